package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The launcher in an installation of its own, with JDKs and a Maven that only print their arguments. The PATH has only
 * the tools that the launcher needs.
 */
@Isolated("A process that another thread starts would inherit a script while it is written, and keep it from running.")
class LauncherTest {
    private static final List<String> TOOLS = List.of("bash", "cat", "date", "dirname", "env", "find", "flock",
        "locale", "mkdir", "mktemp", "mv", "readlink", "rm", "sed", "sleep", "timeout", "touch");
    private static final String ECHO = "printf '<%s>' \"$0\" \"$@\"";
    private static final String BUILD = "echo build >>../builds; echo classes >app/target/isobar.jar";

    @TempDir
    private static Path tools;
    @TempDir
    private Path directory;
    private Path home;
    private Path launcher;
    private final Map<String, String> environment = new HashMap<>();

    @BeforeAll
    static void findTools() throws IOException {
        for (String tool : TOOLS) {
            Path found = Stream.of("/usr/bin", "/bin").map(bin -> Path.of(bin, tool)).filter(Files::exists).findFirst()
                .orElseThrow(() -> new AssertionError("no " + tool + " on this machine"));
            Files.createSymbolicLink(tools.resolve(tool), found);
        }
    }

    @BeforeEach
    void prepare() throws IOException {
        home = directory.resolve("an installation");
        for (String file : List.of("pom.xml", "app/pom.xml", "app/jvm.options", "app/src/main/Main.java",
                "onnx-proto/pom.xml", "onnx-proto/src/main/onnx.proto", "app/target/isobar.jar")) {
            Files.createDirectories(home.resolve(file).getParent());
            Files.writeString(home.resolve(file), "");
        }
        launcher = Files.copy(Path.of("..", "isobar"), home.resolve("isobar"));
        environment.put("PATH", tools + ":" + directory.resolve("maven"));
        environment.put("ISOBAR_JDK_SEARCH", directory + "/installed/*");
        age(home.resolve("app/target/isobar.jar"), Duration.ofHours(-1));
    }

    @Test
    void runsTheJarWithItsOptionsFromAnywhere() throws Exception {
        Path java = jdk("jdk-25", "25.0.1", ECHO);
        environment.put("JAVA_HOME", directory.resolve("jdk-25").toString());
        Path link = Files.createSymbolicLink(directory.resolve("link"), launcher);
        Result result = run(link, "train", "--run_num=first try", "");
        assertEquals("<%s><@%s/app/jvm.options><-Disobar.home=%s><-jar><%s/app/target/isobar.jar>".formatted(
            java, home, home, home) + "<train><--run_num=first try><>", result.out);
        assertEquals(new Result(0, result.out, ""), result);
    }

    /** Help must not depend on the options of training. */
    @ParameterizedTest
    @ValueSource(strings = {"--help", "-h", "--version", "-V"})
    void helpStartsALighterJava(String option) throws Exception {
        Path java = jdk("installed/jdk-25", "25", ECHO);
        assertEquals("<%s><-XX:+UseSerialGC><-XX:TieredStopAtLevel=1><-Disobar.home=%s><-jar><%s/app/target/isobar.jar>"
            .formatted(java, home, home) + "<train><" + option + ">", run(launcher, "train", option).out);
    }

    /** This java writes the archive that its options name, as the JVM does when it exits. */
    @Test
    void aBuildArchivesClassesForTheNextStarts() throws Exception {
        anyJdkAndMaven(BUILD);
        jdk("installed/jdk-25", "25", "for option; do case $option in "
            + "-XX:ArchiveClassesAtExit=*) echo classes >\"${option#*=}\"; env >>../env;; esac; done; " + ECHO);
        environment.put("SLURM_NTASKS", "4");
        Files.delete(home.resolve("app/target/isobar.jar"));
        Path archive = home.resolve("app/target/isobar.jsa");
        String used = "<-XX:SharedArchiveFile=" + archive + "><-Xlog:cds*=off>";
        assertTrue(run(launcher, "train").out.contains(used));
        assertFalse(Files.readString(directory.resolve("env")).contains("SLURM"));
        assertTrue(run(launcher, "train").out.contains(used));

        age(archive, Duration.ofMinutes(1)); // the jar is newer
        assertFalse(run(launcher, "train").out.contains("SharedArchiveFile"));
    }

    @Test
    void aBundleRunsWithItsOwnJavaAndBuildsNothing() throws Exception {
        jdk("installed/jdk-25", "25", ECHO);
        Path java = jdk("an installation/runtime", "25", ECHO);
        Files.delete(home.resolve("app/target/isobar.jar"));
        environment.put("JAVA_HOME", directory.resolve("installed/jdk-25").toString());
        assertEquals(new Result(0, "<%s><@%s/app/jvm.options><-Disobar.home=%s><-jar><%s/isobar.jar><train>".formatted(
            java, home, home, home), ""), run(launcher, "train"));
    }

    /** Java takes the encoding of file names from the locale; C, and a locale that is not installed, have ASCII. */
    @ParameterizedTest
    @ValueSource(strings = {"C.UTF-8", "C", "xx_XX.UTF-8"})
    void javaCanNameFilesThatAreNotAscii(String locale) throws Exception {
        jdk("jdk-25", "25", "printf '%s' \"$LC_ALL\"");
        environment.put("JAVA_HOME", directory.resolve("jdk-25").toString());
        environment.put("LC_ALL", locale);
        assertEquals("C.UTF-8", run(launcher).out);
    }

    @Test
    void exitCodesPassThrough() throws Exception {
        jdk("jdk-25", "25", "exit 7");
        environment.put("JAVA_HOME", directory.resolve("jdk-25").toString());
        assertEquals(7, run(launcher).code);
    }

    @Test
    void signalsReachTheProgram() throws Exception {
        jdk("jdk-25", "25", "echo up; exec sleep 60");
        environment.put("JAVA_HOME", directory.resolve("jdk-25").toString());
        Process process = start(launcher);
        assertEquals("up", process.inputReader().readLine());
        process.destroy();
        assertTrue(process.waitFor(10, TimeUnit.SECONDS));
        assertEquals(128 + 15, process.exitValue());
    }

    @Test
    void anOldJavaHomeGivesWayToPathAndThatToInstalledJdks() throws Exception {
        jdk("jdk-17", "17.0.15", ECHO);
        jdk("jdk-8", "1.8.0_402", ECHO);
        Path installed = jdk("installed/jdk 25", "25", ECHO);
        environment.put("JAVA_HOME", directory.resolve("jdk-17").toString());
        environment.merge("PATH", directory.resolve("jdk-8/bin").toString(), (rest, old) -> old + ":" + rest);
        assertTrue(run(launcher).out.startsWith("<" + installed + ">"));

        Path onPath = jdk("jdk-26", "26-ea", ECHO);
        environment.merge("PATH", onPath.getParent().toString(), (rest, first) -> first + ":" + rest);
        assertTrue(run(launcher).out.startsWith("<" + onPath + ">"));
    }

    @Test
    void aWrapperOnThePathIsAskedForItsJdk() throws Exception {
        Path java = jdk("elsewhere/jdk-25", "25", ECHO);
        Path wrapper = script(directory.resolve("shims/java"),
            "printf '    java.home = %s\\n    java.specification.version = 25\\n' " + java.getParent().getParent());
        environment.merge("PATH", wrapper.getParent().toString(), (rest, shims) -> shims + ":" + rest);
        assertTrue(run(launcher).out.startsWith("<" + java + ">"));
    }

    @Test
    void withoutAJdkItSaysWhatIsMissingAndHowToGetIt() throws Exception {
        jdk("jdk-17", "17.0.15", ECHO);
        Path runtime = jdk("installed/jre-25", "25", ECHO);
        Files.delete(runtime.resolveSibling("javac"));
        environment.put("JAVA_HOME", directory.resolve("jdk-17").toString());
        Result result = run(launcher);
        assertEquals(2, result.code);
        for (String part : List.of("isobar: Isobar needs a JDK 25 or newer, and none was found.",
                "JAVA_HOME: " + directory.resolve("jdk-17/bin/java") + " is Java 17",
                runtime + " is Java 25, but without a compiler (javac)", "apt install openjdk-25-jdk")) {
            assertTrue(result.err.contains(part), result.err);
        }
    }

    @Test
    void isobarJavaIsUsedAndNoOther() throws Exception {
        jdk("jdk-25", "25", ECHO);
        environment.put("JAVA_HOME", directory.resolve("jdk-25").toString());
        Path chosen = jdk("jdk-27", "27", ECHO);
        environment.put("ISOBAR_JAVA", chosen.toString());
        assertTrue(run(launcher).out.startsWith("<" + chosen + ">"));

        environment.put("ISOBAR_JAVA", jdk("jdk-21", "21.0.2", ECHO).toString());
        Result refused = run(launcher);
        assertEquals(2, refused.code);
        assertTrue(refused.err.contains("jdk-21/bin/java is Java 21"), refused.err);
    }

    @Test
    void buildsWhereThereIsNoBuildOrAnOldOne() throws Exception {
        anyJdkAndMaven(BUILD);
        assertEquals(0, run(launcher).code);
        assertEquals(0, builds());

        Files.delete(home.resolve("app/target/isobar.jar"));
        assertTrue(run(launcher).err.contains("isobar: building"));
        assertEquals(1, builds());
        run(launcher);
        assertEquals(1, builds());

        age(home.resolve("app/src/main/Main.java"), Duration.ofSeconds(5));
        age(home.resolve("app/target/isobar.jar"), Duration.ofSeconds(4));
        run(launcher);
        assertEquals(2, builds());

        age(home.resolve("onnx-proto/src/main/onnx.proto"), Duration.ofSeconds(-60));
        run(launcher);
        assertEquals(3, builds());
    }

    @Test
    void aDeletedSourceMakesTheBuildOld() throws Exception {
        anyJdkAndMaven(BUILD);
        Files.setLastModifiedTime(home.resolve("app/target/isobar.jar"), FileTime.from(Instant.now()));
        Thread.sleep(20);
        Files.delete(home.resolve("app/src/main/Main.java"));
        run(launcher);
        assertEquals(1, builds());
    }

    @Test
    void anEditDuringTheBuildIsNotLost() throws Exception {
        anyJdkAndMaven("sleep 0.05; echo edit >app/src/main/Main.java; " + BUILD);
        Files.delete(home.resolve("app/target/isobar.jar"));
        run(launcher);
        run(launcher);
        assertEquals(2, builds());
    }

    @Test
    void oneOfSeveralFirstStartsBuilds() throws Exception {
        anyJdkAndMaven("sleep 0.3; " + BUILD);
        Files.delete(home.resolve("app/target/isobar.jar"));
        List<Process> starts = new ArrayList<>();
        for (int task = 0; task < 4; task++) {
            starts.add(start(launcher, "task" + task));
        }
        for (Process process : starts) {
            assertEquals(0, finish(process).code);
        }
        assertEquals(1, builds());
    }

    /** Maven writes the jar under its final name. A process that is killed meanwhile leaves a part of it. */
    @Test
    void aJarOfAnUnfinishedBuildIsNotStarted() throws Exception {
        anyJdkAndMaven(BUILD);
        Path mark = Files.writeString(home.resolve("app/target/building"), "");
        run(launcher);
        assertEquals(1, builds());
        assertFalse(Files.exists(mark));
        run(launcher);
        assertEquals(1, builds());
    }

    @Test
    void aMissingMavenIsSaid() throws Exception {
        jdk("installed/jdk-25", "25", ECHO);
        Files.delete(home.resolve("app/target/isobar.jar"));
        Result result = run(launcher);
        assertEquals(2, result.code);
        assertTrue(result.err.contains("Maven (mvn) is not on the PATH"), result.err);
        assertTrue(result.err.contains("apt install maven"), result.err);
    }

    @Test
    void aFailedBuildShowsWhy() throws Exception {
        anyJdkAndMaven("echo '[ERROR] Main.java: cannot find symbol'; exit 1");
        Files.delete(home.resolve("app/target/isobar.jar"));
        Result result = run(launcher);
        assertEquals(1, result.code);
        assertTrue(result.err.contains("[ERROR] Main.java: cannot find symbol"), result.err);
        assertEquals("", result.out);
    }

    private record Result(int code, String out, String err) { }

    private Result run(Path command, String... arguments) throws IOException, InterruptedException {
        return finish(start(command, arguments));
    }

    private Process start(Path command, String... arguments) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of(command.toString()), Stream.of(arguments))
            .toList()).directory(directory.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static Result finish(Process process) throws IOException, InterruptedException {
        String out = new String(process.getInputStream().readAllBytes());
        String err = new String(process.getErrorStream().readAllBytes());
        return new Result(process.waitFor(), out, err);
    }

    private void anyJdkAndMaven(String maven) throws IOException {
        jdk("installed/jdk-25", "25", ECHO);
        script(directory.resolve("maven/mvn"), maven);
    }

    /** A JDK whose java is a script; returns that. */
    private Path jdk(String name, String version, String java) throws IOException {
        Path jdk = Files.createDirectories(directory.resolve(name));
        Files.writeString(jdk.resolve("release"), "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"" + version + "\"\n");
        script(jdk.resolve("bin/javac"), "exit 1");
        return script(jdk.resolve("bin/java"), java);
    }

    private static Path script(Path file, String body) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + body + "\n");
        assertTrue(file.toFile().setExecutable(true));
        return file;
    }

    private int builds() throws IOException {
        Path log = directory.resolve("builds");
        return Files.exists(log) ? Files.readAllLines(log).size() : 0;
    }

    private static void age(Path file, Duration age) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().minus(age)));
    }
}
