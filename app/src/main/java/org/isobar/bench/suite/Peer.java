package org.isobar.bench.suite;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import org.isobar.bench.Timing;

/**
 * A program that takes the steps that Isobar takes, in the environment that {@code bench/pytorch.sh} makes for it.
 *
 * @param name    in the names of parts
 * @param command without what is said of the step; empty where it is not here
 * @param absence why it is not here
 */
record Peer(String name, List<String> command, String absence) {
    /** PyTorch of today, which the script brings. */
    static Peer pytorch(Setup setup) {
        return new Peer("pytorch", Files.isExecutable(script(setup)) ? List.of(script(setup).toString(), "step")
            : List.of(), "there is no bench/pytorch.sh");
    }

    /** The PyTorch of this machine's Python. */
    static Peer python(Setup setup) {
        Optional<String> python = Python.with("torch", setup.python())
            .filter(found -> Files.isExecutable(script(setup)));
        return new Peer("python", python.map(found -> List.of(script(setup).toString(), "--python", found, "step",
            "--device", "cpu", "--mode", "eager")).orElse(List.of()), "no python3 here has PyTorch");
    }

    private static Path script(Setup setup) {
        return setup.scripts().resolve("pytorch.sh");
    }

    /** Whether it is here. */
    boolean isHere() {
        return !command.isEmpty();
    }

    /** The same without a command. */
    Peer absent(String reason) {
        return new Peer(name, List.of(), reason);
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
