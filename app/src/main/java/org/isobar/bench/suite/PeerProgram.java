package org.isobar.bench.suite;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.isobar.bench.measure.Timing;

/**
 * A program that takes the steps that Isobar takes, in the environment that {@code bench/pytorch.sh} makes for it.
 *
 * @param name      in the names of parts
 * @param attention that it has
 * @param command   without what is said of the step; empty where it is not here
 * @param absence   why it is not here
 */
record PeerProgram(String name, Attention attention, List<String> command, String absence) {
    private static final String NO_SCRIPT = "there is no bench/pytorch.sh";

    /** How a PyTorch computes attention. */
    enum Attention {
        /** By {@code scaled_dot_product_attention}. */
        FUSED,
        /** With T x T scores in memory, as before 2.0: a step can take ten times as long. */
        STORED
    }

    /** PyTorch of today, which the script brings. */
    static PeerProgram pytorch(SuiteSetup setup) {
        return hasScript(setup)
            ? new PeerProgram("pytorch", Attention.FUSED, List.of(script(setup).toString(), "step"), "")
            : new PeerProgram("pytorch", Attention.FUSED, List.of(), NO_SCRIPT);
    }

    /** The PyTorch of this machine's Python. */
    static PeerProgram python(SuiteSetup setup) {
        PythonInterpreter python = PythonInterpreter.with("torch",
            "hasattr(torch.nn.functional, 'scaled_dot_product_attention')", setup.python());
        Attention attention = python.answer().equals("True") ? Attention.FUSED : Attention.STORED;
        List<String> command = python.program().filter(found -> hasScript(setup)).map(found -> List.of(
            script(setup).toString(), "--python", found, "step", "--device", "cpu", "--mode", "eager"))
            .orElse(List.of());
        return new PeerProgram("python", attention, command, hasScript(setup) ? python.answer() : NO_SCRIPT);
    }

    private static boolean hasScript(SuiteSetup setup) {
        return Files.isExecutable(script(setup));
    }

    private static Path script(SuiteSetup setup) {
        return setup.scripts().resolve("pytorch.sh");
    }

    /** Whether it is here. */
    boolean isHere() {
        return !command.isEmpty();
    }

    /** The same without a command. */
    PeerProgram absent(String reason) {
        return new PeerProgram(name, attention, List.of(), reason);
    }

    /** The command that takes the steps of {@code like} and tells of them in {@code json}. */
    List<String> step(Path like, Path json, Timing timing) {
        List<String> line = new ArrayList<>(command);
        line.addAll(List.of("--like", like.toString(), "--json", json.toString()));
        if (timing == Timing.REHEARSED) {
            line.add("--rehearse");
        }
        return line;
    }
}
