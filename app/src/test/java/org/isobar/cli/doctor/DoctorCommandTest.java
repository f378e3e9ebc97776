package org.isobar.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.cli.Main;
import org.isobar.os.ChildJava;
import org.isobar.os.NativeCache;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code isobar doctor} in processes of its own, on machines that lack one thing or another. */
@Execution(ExecutionMode.CONCURRENT)
class DoctorCommandTest {
    private static final Path SIMULATOR = Path.of("..", "cuda-sim", "target", "lib").toAbsolutePath().normalize();
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory;
    private final Map<String, String> environment = new HashMap<>();
    private final List<String> options = new ArrayList<>();

    /** A machine with no program but Java, and no home. */
    @BeforeEach
    void strip() {
        environment.put("PATH", directory.toString());
        environment.put("HOME", "/proc/nobody");
        options.add("-Duser.home=/proc/nobody");
        options.add("-Djava.io.tmpdir=" + directory);
    }

    @Test
    void aBareMachineTrainsOnItsProcessor() throws Exception {
        String output = run();
        for (String name : List.of("Isobar ", "Java ", "System ", "Processor ", "  supports ", "Memory ",
                "NVIDIA driver ")) {
            assertEquals(1, output.lines().filter(line -> line.startsWith(name)).count(), name + " in " + output);
        }
        for (CudaComponent component : CudaComponent.values()) {
            assertEquals(1, output.lines().filter(line -> line.startsWith("  " + component.fileName() + " ")).count(),
                component + " in " + output);
        }
        assertTrue(output.contains("  srun   not found\n  sinfo  not found\n  nsys   not found\n"), output);
        assertTrue(output.contains("\nNative libraries  unpacked in a temporary directory at each start"), output);
        assertTrue(output.contains("\nCPU training:     yes.\n"), output);
        try (Stream<Path> files = Files.list(directory)) { // the temporary directory is deleted
            assertEquals(List.of("errors", "output"), files.map(file -> file.getFileName().toString()).sorted()
                .filter(name -> !name.startsWith("hsperfdata")).toList());
        }
        assertTrue(output.contains("\nGPU training:     "), output);
    }

    /** Another user could have put a library there. */
    @Test
    void nativeCodeIsNotLoadedFromADirectoryThatOthersCanWrite() throws Exception {
        Path shared = Files.createDirectory(directory.resolve("shared"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString("rwxrwxrwx"));
        environment.put("ISOBAR_CACHE", shared.toString());
        options.add("-XX:MaxVectorSize=16"); // for vectors of this length products are oneDNN's, on each machine
        String output = run();
        String reason = "native code and kernels are not loaded from " + shared + "/native, because other users can "
            + "write " + shared.toRealPath() + "; ";
        assertTrue(output.contains("\nNative libraries  " + reason), output);
        assertTrue(output.contains("\nCPU training:     no, because " + reason), output);
    }

    @Test
    void programsThatHangOrFailAreNamed() throws Exception {
        shareLibraries();
        script("srun", "while :; do :; done");
        script("sinfo", "echo 'slurm 22.05.8'; echo more");
        script("nsys", "echo 'no licence' >&2; exit 3");
        environment.put("SLURM_JOB_ID", "4711");
        String output = run();
        assertTrue(output.contains("""
              srun   found, but does not answer: srun did not end within 5 s
              sinfo  slurm 22.05.8
              nsys   found, but fails: no licence
            """), output);
        assertTrue(output.lines().anyMatch(line -> line.matches("  SLURM_JOB_ID +'4711'")), output);
    }

    @Tag("simulated")
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ISOBAR_SIM_GPUS=1    | GPU 0             .*, compute capability 9\\.0, [0-9.]+ GiB, [0-9.]+ GiB of it free \
        && GPU training:     yes\\. && On several GPUs:  yes\\.
        ISOBAR_SIM_GPUS=4    | GPU 3             .*
        ISOBAR_SIM_GPUS=0    | GPU training:     no, because .*
        ISOBAR_SIM_DRIVER=12080 | GPU training:     no, because the NVIDIA driver runs CUDA 12\\.8 and older, .*
        CUDA_VISIBLE_DEVICES= | GPU training:     no, because CUDA_VISIBLE_DEVICES='' shows no GPU: .*
        """)
    void theSimulatedMachineIsSeen(String variable, String expected) throws Exception {
        assertTrue(Files.isRegularFile(SIMULATOR.resolve("libcuda.so.1")), "no simulated machine in " + SIMULATOR);
        shareLibraries();
        environment.put("LD_LIBRARY_PATH", SIMULATOR.toString());
        environment.put("PATH", System.getenv("PATH")); // its NVRTC calls g++
        String[] parts = variable.split("=", 2);
        environment.put(parts[0], parts[1]);
        String output = run();
        for (String each : expected.split(" && ")) {
            assertTrue(output.lines().anyMatch(line -> line.matches(each)), each + " in " + output);
        }
        for (String library : List.of("libcuda.so.1", "libcudart.so.13", "libcublasLt.so.13", "libnvrtc.so.13")) {
            assertTrue(output.lines().anyMatch(line -> line.matches("  " + library + " +found .*"
                + SIMULATOR.resolve(library))), library + " in " + output);
        }
    }

    /** Takes the libraries that this process has unpacked, which saves time. */
    private void shareLibraries() {
        options.add("-Dorg.bytedeco.javacpp.cachedir=" + NativeCache.prepare(System.getenv()));
    }

    private void script(String name, String body) throws IOException {
        Path script = Files.writeString(directory.resolve(name), "#!/bin/sh\n" + body + "\n");
        assertTrue(script.toFile().setExecutable(true));
    }

    /** Output of the doctor, who always ends well. */
    private String run() throws Exception {
        List<String> command = ChildJava.command(Main.class.getName(), options.toArray(String[]::new));
        command.add("doctor");
        Path output = directory.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(output.toFile())
            .redirectError(directory.resolve("errors").toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("SLURM_") || name.startsWith("CUDA_")
            || name.startsWith("ISOBAR_"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            assertTrue(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS), () -> "it hangs: " + read(output));
        } finally {
            process.destroyForcibly();
        }
        assertEquals(0, process.exitValue(), () -> read(output) + read(directory.resolve("errors")));
        return read(output);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }
}
