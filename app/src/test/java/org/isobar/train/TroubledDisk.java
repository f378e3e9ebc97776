package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.Assumptions;

/**
 * A run of preset {@code tiny} in a process that sees a file system of its own: small, or one that cannot be written.
 * When the log tells of the second epoch's end, it may fill that, but for some bytes; when the log warns that there is
 * no checkpoint, it makes room again.
 *
 * @param code   exit code
 * @param screen what the screen showed; then a line with what was in the checkpoints' directory at the first warning
 */
record TroubledDisk(int code, String screen) {
    /** What {@link #screen} has before names of files. */
    static final String LEFT = "at the warning: ";
    private static final int BLOCK = 4096;
    private static final String[] SPACE = {"unshare", "--user", "--map-root-user", "--mount"};

    /** Skips the test where a process may not have a file system of its own. */
    static void assumePossible() throws IOException, InterruptedException {
        List<String> probe = new ArrayList<>(List.of(SPACE));
        probe.addAll(List.of("mount", "-t", "tmpfs", "tmpfs", "/mnt"));
        try {
            Process process = new ProcessBuilder(probe).redirectErrorStream(true).start();
            Assumptions.assumeTrue(process.waitFor() == 0, "may not mount");
        } catch (IOException none) {
            Assumptions.abort("no unshare here");
        }
    }

    /**
     * Trains on {@code data}; writes under {@code logs}.
     *
     * @param mount   a command that mounts the directory $0
     * @param mounted that directory, which is there; what is in it at the end is copied to {@code copy} beside logs
     * @param leave   how many bytes are left free when the file system is filled; negative if it is not filled
     */
    static TroubledDisk run(String mount, Path mounted, Path data, Path logs, long leave, String... settings)
        throws IOException, InterruptedException {
        Path copy = Files.createDirectory(logs.resolveSibling("copy"));
        Path screen = logs.resolveSibling("screen");
        List<String> command = new ArrayList<>(List.of(SPACE));
        command.addAll(List.of("sh", "-c",
            mount + " || exit 99; \"$@\"; code=$?; cp -a \"$0\"/. " + copy + "; exit $code",
            mounted.toString(), Path.of(System.getProperty("java.home"), "bin", "java").toString(), "@jvm.options",
            "-ea", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
            TroubledDisk.class.getName(), mounted.toString(), data.toString(), logs.toString(), String.valueOf(leave)));
        command.addAll(List.of(settings));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(screen.toFile())
            .redirectInput(new File("/dev/null")).start();
        try {
            assertTrue(process.waitFor(2, TimeUnit.MINUTES), () -> "it still runs");
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        return new TroubledDisk(process.exitValue(), Files.readString(screen));
    }

    /** The lines of the log at a level. */
    List<String> lines(String level) {
        return screen.lines().filter(line -> line.contains(" - root - " + level + " - ")).toList();
    }

    /** What runs in that process. */
    public static void main(String... arguments) throws IOException {
        Path mounted = Path.of(arguments[0]);
        Path logs = Path.of(arguments[2]);
        Path checkpoints = TinyRun.directory(logs).resolve("checkpoints");
        Path ballast = mounted.resolve("ballast");
        long leave = Long.parseLong(arguments[3]);
        UnaryOperator<OutputStream> fill = leave < 0 ? screen -> screen
            : screen -> Spoiling.after("Time taken for epoch 2", screen, () -> {
                await(checkpoints.resolve("checkpoint-12"));
                fill(ballast, leave);
            });
        List<String> left = new ArrayList<>();
        TinyRun run = TinyRun.of(Path.of(arguments[1]), logs, screen -> fill.apply(Spoiling.after(" no checkpoint ",
            screen, () -> {
                left.addAll(Trees.names(checkpoints));
                Files.deleteIfExists(ballast);
            })), List.of(arguments).subList(4, arguments.length).toArray(String[]::new));
        System.out.print(run.screen());
        System.out.println(LEFT + left);
        System.exit(run.code());
    }

    private static void await(Path path) throws IOException {
        for (int tries = 0; Files.notExists(path); tries++) {
            assertTrue(tries < 2000, "no " + path);
            try {
                Thread.sleep(10);
            } catch (InterruptedException stop) {
                throw new IOException(stop);
            }
        }
    }

    private static void fill(Path ballast, long leave) throws IOException {
        byte[] block = new byte[BLOCK];
        try (OutputStream file = Files.newOutputStream(ballast)) {
            while (true) {
                file.write(block);
            }
        } catch (IOException full) {
            try (FileChannel file = FileChannel.open(ballast, StandardOpenOption.WRITE)) {
                file.truncate(file.size() - leave);
            }
        }
    }
}
