package org.isobar.bench.suite;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.isobar.bench.measure.Timing;

/**
 * A PyTorch installation that runs the steps that Isobar runs, in the environment set up by {@code bench/pytorch.sh}.
 *
 * @param name      its name in the names of parts
 * @param attention how it computes attention
 * @param command   its command without the options of a step; empty if it is not available
 * @param absence   why it is not available
 */
record PyTorchProgram(String name, Attention attention, List<String> command, String absence) {
    private static final String NO_SCRIPT = "there is no bench/pytorch.sh";

    /** Implementations of attention in PyTorch. */
    enum Attention {
        /** {@code scaled_dot_product_attention}. */
        FUSED,
        /** T x T scores in memory, as before PyTorch 2.0: a step can take ten times as long. */
        STORED
    }

    /** Current PyTorch, which the script installs. */
    static PyTorchProgram pytorch(SuiteSetup setup) {
        return hasScript(setup)
            ? new PyTorchProgram("pytorch", Attention.FUSED, List.of(script(setup).toString(), "step"), "")
            : new PyTorchProgram("pytorch", Attention.FUSED, List.of(), NO_SCRIPT);
    }

    /** The PyTorch of the Python on this machine. */
    static PyTorchProgram python(SuiteSetup setup) {
        PythonInterpreter python = PythonInterpreter.with("torch",
            "hasattr(torch.nn.functional, 'scaled_dot_product_attention')", setup.python());
        Attention attention = python.answer().equals("True") ? Attention.FUSED : Attention.STORED;
        List<String> command = python.program().filter(found -> hasScript(setup)).map(found -> List.of(
            script(setup).toString(), "--python", found, "step", "--device", "cpu", "--mode", "eager"))
            .orElse(List.of());
        return new PyTorchProgram("python", attention, command, hasScript(setup) ? python.answer() : NO_SCRIPT);
    }

    private static boolean hasScript(SuiteSetup setup) {
        return Files.isExecutable(script(setup));
    }

    private static Path script(SuiteSetup setup) {
        return setup.scripts().resolve("pytorch.sh");
    }

    /** Whether it is available. */
    boolean isAvailable() {
        return !command.isEmpty();
    }

    /** Returns a copy that is not available. */
    PyTorchProgram absent(String reason) {
        return new PyTorchProgram(name, attention, List.of(), reason);
    }

    /** The command that runs the steps described in {@code like} and writes {@code json}. */
    List<String> step(Path like, Path json, Timing timing) {
        List<String> line = new ArrayList<>(command);
        line.addAll(List.of("--like", like.toString(), "--json", json.toString()));
        if (timing == Timing.REHEARSED) {
            line.add("--rehearse");
        }
        return line;
    }
}
