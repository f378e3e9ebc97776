package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * A launcher of any command, in a process of its own. Arguments: number of ranks, limits in ms for reporting and for
 * saving, the command.
 */
final class LocalJobProgram {
    private LocalJobProgram() { }

    public static void main(String[] arguments) throws InterruptedException {
        int code;
        try (LocalJob job = new LocalJob(new PrintWriter(System.out), new PrintWriter(System.err),
                new LocalJob.Limits(millis(arguments[1]), millis(arguments[2])))) {
            job.start(List.of(arguments).subList(3, arguments.length), System.getenv(),
                Integer.parseInt(arguments[0]));
            code = job.await();
        }
        System.exit(code);
    }

    private static Duration millis(String number) {
        return Duration.ofMillis(Long.parseLong(number));
    }

    /** A rank that works for ever, and writes its number into a file when it has begun. */
    static final class Rank {
        private Rank() { }

        public static void main(String[] arguments) throws Exception {
            LauncherWatch.begin(System.getenv());
            Files.writeString(Path.of(arguments[0] + System.getenv("RANK")),
                String.valueOf(ProcessHandle.current().pid()));
            Thread.currentThread().join();
        }
    }
}
