package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Assumptions;

/** A Slurm of virtual nodes on this machine, which ends with this object or this process. */
final class SlurmCluster implements Closeable {
    private static final Path SCRIPT = Path.of("src", "test", "slurm", "cluster.sh").toAbsolutePath();
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final Process daemons;
    private final Path configuration;
    private final Path house;

    private SlurmCluster(Process daemons, Path configuration, Path house) {
        this.daemons = daemons;
        this.configuration = configuration;
        this.house = house;
    }

    /** Starts {@code nodes} nodes, which keep their files in a new {@code directory}; jobs are submitted in a house. */
    static SlurmCluster start(int nodes, Path directory, Path house) throws IOException {
        Process daemons = new ProcessBuilder(SCRIPT.toString(), String.valueOf(nodes), directory.toString(),
            String.valueOf(freePorts(nodes + 1))).redirectErrorStream(true).start();
        String said = daemons.inputReader().readLine();
        assertEquals("up", said, () -> "the cluster did not come up: " + daemons.inputReader().lines().toList());
        return new SlurmCluster(daemons, directory.resolve("slurm.conf"), house);
    }

    /** Skips the tests where there is no Slurm, or where no name spaces can be made. */
    static void assumePossible() throws Exception {
        String search = System.getenv("PATH") + ":/usr/sbin:/sbin";
        for (String program : List.of("sbatch", "slurmctld", "slurmd", "munged", "unshare")) {
            Assumptions.assumeTrue(Stream.of(search.split(":")).anyMatch(bin -> Files.isExecutable(
                Path.of(bin, program))), "no " + program + " here");
        }
        Process probe = new ProcessBuilder("unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "true")
            .redirectErrorStream(true).start();
        Assumptions.assumeTrue(probe.waitFor() == 0, "may not make name spaces");
    }

    /** Submits a job, by the arguments of sbatch. */
    Job submit(Map<String, String> variables, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("sbatch", "--parsable"));
        command.addAll(arguments);
        return new Job(run(variables, command).strip());
    }

    private String run(Map<String, String> variables, List<String> command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).directory(house.toFile()).redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.matches("(SLURM|SBATCH|ISOBAR|MASTER)_.*|LOGDIR|DATADIR"));
        // More threads than cores would but fight; a container is no matter of these tests.
        builder.environment().putAll(Map.of("SLURM_CONF", configuration.toString(), "ISOBAR_THREADS", "1",
            "ISOBAR_IMAGE", "none"));
        builder.environment().putAll(variables);
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), () -> command + ": " + said);
        return said;
    }

    @Override
    public void close() throws IOException {
        daemons.getOutputStream().close();
        try {
            assertTrue(daemons.waitFor(20, TimeUnit.SECONDS), "the cluster does not end");
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        } finally {
            daemons.destroyForcibly();
        }
    }

    /** The first of {@code count} free ports in a row, below those that the system deals out itself. */
    private static int freePorts(int count) {
        int first = 16_000 + (int) (ProcessHandle.current().pid() % 3_000);
        return IntStream.iterate(first, port -> port < 20_000, port -> port + count)
            .filter(port -> IntStream.range(port, port + count).allMatch(SlurmCluster::isFree))
            .findFirst().orElseThrow();
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException taken) {
            return false;
        }
    }

    /** A submitted job. */
    final class Job {
        private static final Pattern STATUS = Pattern.compile("JobState=(\\w+).* ExitCode=(\\d+):(\\d+)");
        private static final String UNENDED = "(PENDING|CONFIGURING|RUNNING|SIGNALING|COMPLETING|REQUEUED) .*";
        private final String id;

        private Job(String id) {
            this.id = id;
        }

        /** Waits until the job has ended; returns its state and code, such as {@code FAILED 137}. */
        String end() throws Exception {
            return end(PATIENCE);
        }

        /** The same for a long job. */
        String end(Duration limit) throws Exception {
            return until(limit, status -> !status.matches(UNENDED));
        }

        private String until(Duration limit, Predicate<String> condition) throws Exception {
            for (long deadline = System.nanoTime() + limit.toNanos(); System.nanoTime() < deadline;) {
                Matcher matcher = STATUS.matcher(run(Map.of(), List.of("scontrol", "-o", "show", "job", id)));
                if (matcher.find() && condition.test(matcher.group(1) + " " + matcher.group(2))) {
                    return matcher.group(1) + " " + matcher.group(2);
                }
                Thread.sleep(100);
            }
            throw new TimeoutException("after " + limit.toSeconds() + " s: " + output());
        }

        /** Waits until the output has such a line. */
        void await(String line) throws Exception {
            await(line, 1);
        }

        /** Waits until the output has so many such lines. */
        void await(String line, int times) throws Exception {
            until(PATIENCE, status -> count(line) >= times || !status.matches(UNENDED));
            assertTrue(count(line) >= times, output());
        }

        /** How many such lines the output has. */
        int count(String line) {
            return (int) output().lines().filter(each -> each.contains(line)).count();
        }

        /** What the job has written, as the scripts' headers name the file. */
        String output() {
            try (Stream<Path> files = Files.list(house)) {
                Optional<Path> file = files.filter(path -> path.toString().endsWith("-" + id + ".out")).findFirst();
                return file.isEmpty() ? "" : Files.readString(file.get());
            } catch (IOException unreadable) {
                throw new AssertionError(unreadable);
            }
        }

        /** Sends a signal to all tasks. */
        void signal(String name) throws Exception {
            run(Map.of(), List.of("scancel", "--signal=" + name, id));
        }

        /** Cancels the job. */
        void cancel() throws Exception {
            run(Map.of(), List.of("scancel", id));
        }

        /** Kills the program of one rank, as the system does when memory is short. */
        void kill(int rank) {
            List<ProcessHandle> victims = ProcessHandle.allProcesses()
                .filter(process -> process.info().command().filter(name -> name.endsWith("/java")).isPresent())
                .filter(process -> environment(process).entrySet().containsAll(Map.of("SLURM_JOB_ID", id, "SLURM_CONF",
                    configuration.toString(), "SLURM_PROCID", String.valueOf(rank)).entrySet()))
                .toList();
            assertEquals(1, victims.size());
            victims.getFirst().destroyForcibly();
        }
    }

    private static Map<String, String> environment(ProcessHandle process) {
        Map<String, String> environment = new HashMap<>();
        try {
            for (String entry : Files.readString(Path.of("/proc", String.valueOf(process.pid()), "environ"))
                    .split("\0")) {
                String[] parts = entry.split("=", 2);
                environment.put(parts[0], parts[parts.length - 1]);
            }
        } catch (IOException ended) {
            // None, then.
        }
        return environment;
    }
}
