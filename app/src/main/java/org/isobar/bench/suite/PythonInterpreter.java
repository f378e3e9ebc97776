package org.isobar.bench.suite;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.isobar.os.CommandResult;

/**
 * A Python that has what a script needs, or none.
 *
 * @param program its command; empty where there is none
 * @param answer  what it was asked for, or why there is none
 */
public record PythonInterpreter(Optional<String> program, String answer) {
    private static final Duration PATIENCE = Duration.ofSeconds(60); // PyTorch's first import from a cold disk

    /** The same without a question. */
    public static PythonInterpreter with(String modules, Optional<String> users) {
        return with(modules, "True", users);
    }

    /**
     * The first of python3 and /usr/bin/python3 that can import {@code modules} ("h5py, numpy"); where the user names a
     * Python, that one or none.
     *
     * @param question an expression whose value is asked for
     */
    public static PythonInterpreter with(String modules, String question, Optional<String> users) {
        Optional<String> named = users.filter(name -> !name.isBlank());
        String absence = "no python3 here can import " + modules;
        for (String python : named.map(List::of).orElse(List.of("python3", "/usr/bin/python3"))) {
            CommandResult asked = CommandResult.run(PATIENCE,
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
