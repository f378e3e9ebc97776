package org.isobar.backend.host;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Starts another Java process with the class path and the flags of this one. */
final class Jvm {
    private Jvm() { }

    /** Runs {@code main} with the environment of a rank; its output, errors included, goes to {@code log}. */
    static Process start(Class<?> main, int rank, int worldSize, int port, Path log, String... arguments)
        throws IOException {
        return start(main, rank, worldSize, port, log, Map.of(), List.of(arguments));
    }

    /** The same with more in its environment. */
    static Process start(Class<?> main, int rank, int worldSize, int port, Path log, Map<String, String> environment,
        List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-ea", "-Xmx256m",
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--add-modules=jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED", "-Dorg.bytedeco.javacpp.nopointergc=true",
            "-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile())
            .redirectInput(new File("/dev/null"));
        builder.environment().keySet().removeIf(name -> name.startsWith("SLURM_"));
        builder.environment().putAll(Map.of("RANK", String.valueOf(rank), "WORLD_SIZE", String.valueOf(worldSize),
            "LOCAL_RANK", String.valueOf(rank), "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", String.valueOf(port),
            "ISOBAR_JOB_SECRET", "a secret of this test alone"));
        builder.environment().putAll(environment);
        return builder.start();
    }
}
