package org.isobar.cli.job;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

import org.isobar.fault.UserException;

/**
 * Ends a process that {@link LocalJob} started when its launcher exits. A launcher stops its processes itself, unless
 * it is killed by SIGKILL.
 */
public final class ParentWatch {
    /** Environment variable with the launcher's process id. */
    static final String VARIABLE = "ISOBAR_LAUNCHER";
    /** The exit code of a process that SIGTERM terminated. */
    private static final int TERMINATED = 143;
    private static final Duration INTERVAL = Duration.ofMillis(250);
    private static final Duration EXIT_LIMIT = Duration.ofSeconds(1);

    private ParentWatch() { }

    /** Whether a launcher started this process, or one of its parents. */
    public static boolean isLaunched(Map<String, String> environment) {
        return environment.containsKey(VARIABLE);
    }

    /**
     * Starts watching, if the environment names a launcher.
     *
     * @throws UserException if what it names is not a process
     */
    public static void begin(Map<String, String> environment) {
        String launcher = environment.get(VARIABLE);
        if (launcher != null) {
            if (!launcher.matches("\\d{1,10}")) {
                throw new UserException(VARIABLE + "=" + launcher + " is not the number of a process; unset it: "
                    + "isobar launch sets it");
            }
            ProcessHandle.of(Long.parseLong(launcher)).ifPresentOrElse(process -> Thread.ofPlatform().daemon()
                .name("isobar-parent-watch").start(() -> watch(process)), ParentWatch::end);
        }
    }

    /** Polls, because {@link ProcessHandle#onExit} completes only when the launcher's parent has reaped it. */
    private static void watch(ProcessHandle launcher) {
        while (launcher.isAlive() && !isZombie(launcher.pid())) {
            sleep(INTERVAL);
        }
        end();
    }

    /** Whether a process has exited and its parent has not yet read its exit code (proc(5)); Java calls it alive. */
    static boolean isZombie(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"));
            return stat.startsWith(") Z", stat.lastIndexOf(')')); // the name before it may have parentheses
        } catch (IOException ended) {
            return false;
        }
    }

    private static void end() {
        Thread.ofPlatform().daemon().start(() -> {
            sleep(EXIT_LIMIT);
            Runtime.getRuntime().halt(TERMINATED); // a shutdown hook hangs
        });
        System.exit(TERMINATED);
    }

    private static void sleep(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException("no other thread knows this one", interrupted);
        }
    }
}
