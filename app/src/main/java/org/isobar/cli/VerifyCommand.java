package org.isobar.cli;

import java.io.PrintWriter;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;

import org.isobar.backend.Backend;
import org.isobar.device.Device;
import org.isobar.verify.Case;
import org.isobar.verify.ContractViolation;
import org.isobar.verify.GoldenCase;
import org.isobar.verify.TensorOpsContract;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar verify}: the checks that ship, on the machine at hand. Exits with 1 if one fails. */
@Command(name = "verify", mixinStandardHelpOptions = true, showDefaultValues = true,
    description = "Check this machine's arithmetic: every operation, and the whole model against PyTorch.")
final class VerifyCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(names = "--device", defaultValue = "auto", description = "auto, cpu or cuda.")
    private Backend backend;

    @Option(names = "--threads", description = "Compute threads; all cores unless given.")
    private Integer threads;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        OptionalInt count = threads == null ? OptionalInt.empty() : OptionalInt.of(threads);
        try (Device device = backend.open(count, out::println)) {
            boolean holds = contract(device, out);
            for (GoldenCase golden : GoldenCase.all()) {
                holds &= golden(golden, device, out);
            }
            out.println(holds ? "Everything holds." : "Something does not hold: see FAILED above.");
            out.flush();
            return holds ? 0 : 1;
        }
    }

    private static boolean contract(Device device, PrintWriter out) {
        List<Case> cases = TensorOpsContract.cases();
        int failed = 0;
        for (Case contractCase : cases) {
            try {
                contractCase.run(device);
            } catch (ContractViolation violation) {
                failed++;
                out.println("FAILED " + violation.getMessage());
            }
        }
        out.printf("Operations: %d cases, %d failed%n", cases.size(), failed);
        out.flush();
        return failed == 0;
    }

    private static boolean golden(GoldenCase golden, Device device, PrintWriter out) {
        List<GoldenCase.Deviation> deviations = golden.run(device);
        List<GoldenCase.Deviation> failed = deviations.stream().filter(d -> !d.isAcceptable()).toList();
        failed.forEach(d -> out.printf("FAILED golden case %s, %s: error %.1e, allowed %.1e%n", golden.name(),
            d.what(), d.error(), d.tolerance()));
        GoldenCase.Deviation worst = deviations.stream()
            .max(Comparator.comparingDouble(d -> d.error() / d.tolerance())).orElseThrow();
        out.printf("Golden case %-8s %3d comparisons, %d failed; nearest to its bound: %s, error %.1e of %.0e%n",
            golden.name(), deviations.size(), failed.size(), worst.what(), worst.error(), worst.tolerance());
        out.flush();
        return failed.isEmpty();
    }
}
