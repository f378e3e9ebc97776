package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import org.isobar.cli.job.JavaCommand;
import org.isobar.os.ChildJava;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code isobar bundle}, and what it makes on a machine that has nothing else. */
@Execution(ExecutionMode.CONCURRENT)
class BundleCommandTest {
    private static final Path JAR = Path.of("target", "isobar.jar").toAbsolutePath(); // process-classes makes it
    private static final long LIMIT = 60_000_000;
    private static final long LIMIT_UNCOMPRESSED = 300_000_000;
    private static final double TOLERANCE = 1e-5; // of losses between layouts, relative
    private static final Map<String, String> QUICK = Map.of("JDK_JAVA_OPTIONS", ChildJava.QUICK_COMPILER);
    private static final List<String> MODEL = Stream.concat(Stream.of("--config=tiny"),
        TinyRun.smallerOptions().stream()).toList();

    @TempDir
    private static Path directory;
    private static Path archive;
    private static BareNode node;
    private static List<String> losses;

    /**
     * Makes a bundle that is not compressed, which would take the longest, unpacks it elsewhere, and meanwhile trains
     * with the build that it is made of.
     */
    @BeforeAll
    static void prepare() throws Exception {
        archive = directory.resolve("made/here/isobar.tar.xz");
        Files.createDirectories(archive.getParent());
        Files.writeString(archive, "an older one");
        try (ExecutorService beside = Executors.newSingleThreadExecutor()) {
            Future<List<String>> trained = beside.submit(() -> build(train("build", "train")).losses());
            Path copying = Files.writeString(Files.createDirectory(directory.resolve("bin")).resolve("xz"),
                "#!/bin/sh\nexec cat\n");
            assertTrue(copying.toFile().setExecutable(true));
            BareNode.Result made = build(Map.of("PATH", copying.getParent() + ":" + System.getenv("PATH")),
                "bundle", "--output=" + archive);
            assertEquals(0, made.code(), made.said());
            assertTrue(made.said().contains("Wrote " + archive), made.said());
            node = new BareNode(unpack(Files.createDirectory(directory.resolve("an installation"))),
                directory.resolve("node"));
            losses = trained.get();
        }
    }

    @Test
    void itIsOneFile() throws IOException {
        assertEquals(List.of("isobar.tar.xz"), names(archive.getParent()));
        assertTrue(Files.size(archive) < LIMIT_UNCOMPRESSED, () -> archive.toFile().length() + " bytes");
        List<String> files = names(node.bundle());
        assertTrue(files.containsAll(List.of("README.md", "app", "bench", "config", "docs", "export_DDP_vars.sh",
            "isobar", "isobar.jar", "lib", "native", "runtime", "submit_pm.sh", "submit_pm_dp.sh", "submit_pm_mp.sh")),
            files::toString);
    }

    @Tag("slow")
    @Test
    void compressedItIsSmall() throws Exception {
        Path small = directory.resolve("small.tar.xz");
        BareNode.Result made = build("bundle", "--output=" + small);
        assertEquals(0, made.code(), made.said());
        assertTrue(Files.size(small) < LIMIT, () -> small.toFile().length() + " bytes");
    }

    /** The launcher starts a Java without the Vector API for this, and so without its warning. */
    @Test
    void saysItsVersion() throws Exception {
        BareNode.Result version = node.isobar(Map.of(), "--version");
        assertEquals(0, version.code(), version.said());
        assertTrue(version.said().startsWith("isobar "), version.said());
        assertTrue(build("--version").said().endsWith(version.said()), version.said());
    }

    @Test
    void trainsAsTheBuildDoes() throws Exception {
        assertEquals(losses, node.isobar(QUICK, train("one", "train")).losses());
    }

    /** Native libraries are loaded from the bundle; no user needs a copy. */
    @Test
    void unpacksNoLibraries() throws Exception {
        String said = node.isobar(Map.of(), "doctor").said();
        Path natives = node.bundle().toRealPath().resolve("native");
        assertTrue(said.contains("\nNative libraries  in " + natives + "\n"), said);
        assertTrue(said.contains("\nCPU training:     yes.\n"), said);
        try (Stream<Path> files = Files.walk(node.directory().resolve("home"))) {
            assertEquals(List.of(), files.filter(Files::isRegularFile).toList());
        }
    }

    @Test
    void launchStartsItsOwnJava() throws Exception {
        assertClose(node.isobar(QUICK, train("two", "launch", "--nproc_per_node=2", "train", "--tensor_parallel=2"))
            .losses());
    }

    @Test
    @Tag("slurm")
    void theSubmitScriptsUseIt() throws Exception {
        SlurmCluster.assumePossible();
        try (SlurmCluster slurm = SlurmCluster.start(1, directory.resolve("slurm"), node.bundle())) {
            SlurmCluster.Job job = slurm.submit(Map.of("LOGDIR", directory.resolve("jobs").toString(),
                "DATADIR", directory.resolve("data").toString(), "JAVA_HOME", "/nowhere"),
                Stream.concat(Stream.of("--nodes=1", "--ntasks-per-node=2", "submit_pm_mp.sh", "--tensor_parallel=2",
                    "--device=cpu"), MODEL.stream()).toList());
            assertEquals("COMPLETED 0", job.end(), job::output);
            assertClose(new BareNode.Result(0, job.output()).losses());
        }
    }

    @Test
    void aBundleMakesNoBundle() throws Exception {
        BareNode.Result refused = node.isobar(Map.of(), "bundle");
        assertEquals(2, refused.code(), refused.said());
        assertTrue(refused.said().contains("has no jlink: make bundles from a source tree with a JDK"), refused.said());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        /proc/b.tar.xz      | isobar: cannot write bundle /proc/b.tar.xz: No such file or directory; free space, fix
        /proc/stat/b.tar.xz | isobar: cannot write bundle /proc/stat/b.tar.xz: File exists; free space, fix
        """)
    void whereItCannotWriteItSaysSo(String output, String expected) throws Exception {
        BareNode.Result refused = build("bundle", "--output=" + output);
        assertEquals(2, refused.code(), refused.said());
        assertTrue(refused.said().contains(expected), refused.said());
    }

    private static BareNode.Result build(String... arguments) throws Exception {
        return build(Map.of(), arguments);
    }

    /** Runs the build as the launcher does. */
    private static BareNode.Result build(Map<String, String> variables, String... arguments) throws Exception {
        List<String> command = Stream.concat(Stream.of(JavaCommand.command(Main.class).getFirst(),
            "@" + Path.of("jvm.options").toAbsolutePath(), ChildJava.QUICK_COMPILER,
            "-Disobar.home=" + Path.of("..").toAbsolutePath(), "-jar", JAR.toString()), Stream.of(arguments)).toList();
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
        builder.environment().keySet().removeIf(name -> name.matches("(SLURM|ISOBAR)_.*|LOGDIR|DATADIR|WORLD_SIZE"));
        builder.environment().put("ISOBAR_THREADS", "1");
        builder.environment().putAll(variables);
        return BareNode.run(builder);
    }

    /** A command with the options of a training run. */
    private static String[] train(String name, String... command) {
        return Stream.of(Stream.of(command), MODEL.stream(), Stream.of("--data_dir=" + directory.resolve("data"),
            "--expdir=" + directory.resolve(name))).flatMap(all -> all).toArray(String[]::new);
    }

    /** Unpacks the archive; returns the one directory in it. */
    private static Path unpack(Path where) throws Exception {
        BareNode.Result tar = BareNode.run(new ProcessBuilder("tar", "-xf", archive.toString())
            .directory(where.toFile()));
        assertEquals(0, tar.code(), tar.said());
        assertEquals(1, names(where).size());
        return where.resolve(names(where).getFirst());
    }

    private static void assertClose(List<String> others) {
        assertEquals(losses.size(), others.size());
        for (int i = 0; i < losses.size(); i++) {
            double loss = Double.parseDouble(losses.get(i));
            assertEquals(loss, Double.parseDouble(others.get(i)), loss * TOLERANCE);
        }
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }
}
