package org.isobar.cli.verify;

import java.io.PrintWriter;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.device.AttentionEngine;
import org.isobar.device.Device;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.isobar.verify.GoldenCase;
import org.isobar.verify.contract.ContractCase;
import org.isobar.verify.contract.ContractViolation;
import org.isobar.verify.contract.TensorOpsContract;

/** Checks the arithmetic of one device: each operation against double precision, the whole model against PyTorch. */
final class ArithmeticCheck {
    private static final List<DType> HALVES = List.of(DType.F16, DType.BF16);

    private final Device device;
    private final PrintWriter out;

    ArithmeticCheck(Device device, PrintWriter out) {
        this.device = device;
        this.out = out;
    }

    /** Checks and prints all operations in all types, and the golden cases; returns whether all hold. */
    boolean run() {
        boolean holds = contract(TensorOpsContract.cases(device));
        for (DType compute : TensorOpsContract.types(device)) {
            holds &= golden(GoldenCase.all(), compute);
        }
        return holds;
    }

    /**
     * Checks a second engine of attention, if it is installed, on what it can compute, and prints what that is; returns
     * whether all holds.
     */
    boolean runSecondAttention() {
        if (device.secondAttention().filter(AttentionEngine::isInstalled).isEmpty()) {
            return true;
        }
        AttentionEngine engine = device.secondAttention().get();
        List<DType> computed = HALVES.stream().filter(half -> prepare(engine, half)).toList();
        List<ContractCase> cases = TensorOpsContract.cases(device).stream()
            .filter(one -> one.operation().startsWith("attention") && computed.contains(one.types().compute()))
            .toList();
        engine.enable(true);
        boolean holds = contract(cases);
        for (DType half : computed) {
            List<GoldenCase> golden = GoldenCase.all().stream()
                .filter(one -> engine.prepare(one.attentionShapes(half), half).isEmpty()).toList();
            holds &= golden.isEmpty() || golden(golden, half);
        }
        engine.enable(false);
        return holds;
    }

    /** Prepares the engine for the shapes of the cases and prints which it computes; returns whether it does any. */
    private boolean prepare(AttentionEngine engine, DType compute) {
        Set<AttentionShape> shapes = TensorOpsContract.attentionShapes();
        List<String> refusals = shapes.stream().flatMap(shape -> engine.prepare(Set.of(shape), compute).stream())
            .sorted().toList();
        out.printf("Attention by %s in %s: %d of %d shapes%n", engine.name(), compute,
            shapes.size() - refusals.size(), shapes.size());
        refusals.stream().distinct().forEach(why -> out.println("  " + why));
        engine.backwardRefusal(compute).ifPresent(why -> out.println("  backward by Isobar's kernels: " + why));
        return refusals.size() < shapes.size();
    }

    private boolean contract(List<ContractCase> cases) {
        Map<DType, List<ContractCase>> byType = cases.stream().collect(Collectors.groupingBy(
            one -> one.types().compute(), () -> new EnumMap<>(DType.class), Collectors.toList()));
        boolean holds = true;
        for (Map.Entry<DType, List<ContractCase>> ofType : byType.entrySet()) {
            int failed = 0;
            for (ContractCase contractCase : ofType.getValue()) {
                try {
                    contractCase.run(device);
                } catch (ContractViolation violation) {
                    failed++;
                    out.println("FAILED " + violation.getMessage());
                }
            }
            out.printf("Operations in %-4s %4d cases, %d failed%n", ofType.getKey(), ofType.getValue().size(), failed);
            out.flush();
            holds &= failed == 0;
        }
        return holds;
    }

    private boolean golden(List<GoldenCase> cases, DType compute) {
        int comparisons = 0;
        int failed = 0;
        GoldenCase.Deviation worst = new GoldenCase.Deviation("", 0, 1);
        for (GoldenCase golden : cases) {
            for (GoldenCase.Deviation deviation : golden.run(device, compute)) {
                comparisons++;
                if (!deviation.isWithinTolerance()) {
                    failed++;
                    out.printf("FAILED golden case %s in %s, %s: error %.1e, allowed %.1e%n", golden.name(), compute,
                        deviation.what(), deviation.error(), deviation.tolerance());
                }
                worst = deviation.fractionOfTolerance() > worst.fractionOfTolerance() ? deviation : worst;
            }
        }
        out.printf(
            "Golden cases in %-4s %4d comparisons, %d failed; closest to its tolerance: %s, error %.1e of %.1e%n",
            compute, comparisons, failed, worst.what(), worst.error(), worst.tolerance());
        out.flush();
        return failed == 0;
    }
}
