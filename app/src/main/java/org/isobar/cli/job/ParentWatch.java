package org.isobar.cli.job;

import java.util.Map;

/**
 * Ends a process that {@link LocalJob} started when its launcher exits. A launcher stops its processes itself, unless
 * it is killed by SIGKILL.
 */
public final class ParentWatch {
    /** Environment variable with the launcher's process id. */
    static final String VARIABLE = "ISOBAR_LAUNCHER";
    /** The exit code of a process that SIGTERM terminated. */
    private static final int TERMINATED = 143;

    private ParentWatch() { }

    /** Starts watching, if the environment names a launcher. */
    public static void begin(Map<String, String> environment) {
        String launcher = environment.get(VARIABLE);
        if (launcher != null) {
            ProcessHandle.of(Long.parseLong(launcher)).ifPresentOrElse(
                process -> process.onExit().thenRun(ParentWatch::end), ParentWatch::end);
        }
    }

    private static void end() {
        System.exit(TERMINATED);
    }
}
