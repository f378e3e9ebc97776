package org.isobar.backend.cuda.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles, in a new process, with a toolkit that CUDA_HOME names and the dynamic loader does not find. */
@Tag("nvrtc")
class ToolkitCompilerTest {
    private static final long SECONDS = 120;

    /** The program of that process. */
    static final class Program {
        private Program() { }

        public static void main(String[] arguments) {
            byte[] image = new KernelCompiler().compile(KernelSource.load("fill.cu"),
                KernelCompiler.options(90, List.of())).image();
            System.out.println("compiled to " + image.length + " bytes");
        }
    }

    @Test
    void aToolkitThatTheLoaderDoesNotKnowCompiles(@TempDir Path directory) throws Exception {
        Files.createSymbolicLink(directory.resolve("lib64"), redistributable());
        String classes = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !entry.contains("cuda-redist")).collect(Collectors.joining(File.pathSeparator));
        Path log = directory.resolve("log");
        ProcessBuilder builder = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED", "-Dorg.bytedeco.javacpp.cachedir=" + directory.resolve("javacpp"),
            "-cp", classes, Program.class.getName()).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().put("CUDA_HOME", directory.toString());
        Process process = builder.start();
        assertTrue(process.waitFor(SECONDS, TimeUnit.SECONDS), "it hangs");
        String said = Files.readString(log);
        assertEquals(0, process.exitValue(), said);
        assertTrue(said.contains("compiled to"), said);
    }

    /** The directory into which JavaCPP has unpacked NVRTC from the class path. */
    private static Path redistributable() throws IOException {
        new KernelCompiler();
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("libnvrtc.so"))
                .map(line -> Path.of(line.substring(line.indexOf('/'))).getParent()).findFirst().orElseThrow();
        }
    }
}
