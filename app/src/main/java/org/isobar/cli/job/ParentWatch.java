package org.isobar.cli.job;

import java.util.Map;

/**
 * Ends a process that {@link LocalJob} has started when the one that started it is no more. That one ends its processes
 * itself, unless it is killed by a signal that nobody can handle.
 */
public final class ParentWatch {
    /** The process that started this one, by its number. */
    static final String VARIABLE = "ISOBAR_LAUNCHER";
    /** As if ended by SIGTERM. */
    private static final int TERMINATED = 143;

    private ParentWatch() { }

    /** Watches from now on, if the environment names a launcher. */
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
