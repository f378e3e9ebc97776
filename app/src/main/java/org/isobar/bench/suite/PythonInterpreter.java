package org.isobar.bench.suite;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.isobar.os.CommandResult;

/**
 * A Python interpreter with the modules that a script needs.
 *
 * @param program its command; empty if there is none
 * @param answer  value of the requested expression, or why there is no interpreter
 */
public record PythonInterpreter(Optional<String> program, String answer) {
    private static final Duration LIMIT = Duration.ofSeconds(60); // PyTorch's first import from a cold disk

    /** Finds an interpreter that can import {@code modules}. */
    public static PythonInterpreter with(String modules, Optional<String> requested) {
        return with(modules, "True", requested);
    }

    /**
     * Finds an interpreter that can import {@code modules} ("h5py, numpy"). Tries python3 and /usr/bin/python3, or only
     * the one that the user named.
     *
     * @param question expression to evaluate
     */
    public static PythonInterpreter with(String modules, String question, Optional<String> requested) {
        Optional<String> named = requested.filter(name -> !name.isBlank());
        String absence = "no python3 on this machine can import " + modules;
        for (String python : named.map(List::of).orElse(List.of("python3", "/usr/bin/python3"))) {
            CommandResult asked = CommandResult.run(LIMIT,
                List.of(python, "-c", "import " + modules + "; print(" + question + ")"));
            if (asked.fault().isEmpty()) {
                return new PythonInterpreter(Optional.of(python), asked.lines().getLast());
            }
            if (named.isPresent()) {
                absence = "PYTHON=" + python + " cannot import " + modules + ": " + asked.fault().get();
            }
        }
        return new PythonInterpreter(Optional.empty(), absence);
    }
}
