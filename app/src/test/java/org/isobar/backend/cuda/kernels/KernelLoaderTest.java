package org.isobar.backend.cuda.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaFixture;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.ops.GpuResources;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kernels are compiled, cached and loaded again. */
@Tag("cuda")
class KernelLoaderTest {
    private static final String FILE = "fill.cu";

    @TempDir
    private Path cache;
    private final List<String> warnings = new ArrayList<>();

    @Test
    void aKernelIsCompiledOnceAndThenReadFromTheDisk() throws IOException {
        load();
        byte[] compiled = Files.readAllBytes(entry());
        Files.setLastModifiedTime(entry(), FileTime.fromMillis(0));
        load();
        assertEquals(0, Files.getLastModifiedTime(entry()).toMillis(), "it was compiled again");
        Files.write(entry(), new byte[100]);
        load();
        assertEquals(compiled.length, Files.size(entry()), "the damaged entry was not replaced");
        assertEquals(List.of(), warnings);
    }

    @Test
    void whatDoesNotCompileShowsTheCompilersLog() {
        KernelSource source = new KernelSource("bad.cu", "extern \"C\" __global__ void f() { nonsense(); }", Map.of());
        CudaException failure = assertThrows(CudaException.class,
            () -> new KernelCompiler().compile(source, KernelCompiler.options(90, List.of("TYPE=float"))));
        assertTrue(failure.getMessage().startsWith("kernel bad.cu does not compile"), failure.getMessage());
        assertTrue(failure.getMessage().contains("-DTYPE=float"), failure.getMessage());
        assertTrue(failure.getMessage().contains("nonsense"), failure.getMessage());
    }

    @Test
    void anUnknownFunctionIsNamed() {
        try (GpuResources stack = stack()) {
            CudaException failure = assertThrows(CudaException.class,
                () -> stack.context().kernels().kernel(FILE, "no_such_kernel"));
            assertTrue(failure.getMessage().contains("no_such_kernel of fill.cu"), failure.getMessage());
        }
    }

    private void load() {
        try (GpuResources stack = stack()) {
            KernelProvider kernels = stack.context().kernels();
            assertSame(kernels.kernel(FILE, "fill_4"), kernels.kernel(FILE, "fill_4"));
        }
    }

    private GpuResources stack() {
        return CudaFixture.stack(Map.of("ISOBAR_KERNEL_CACHE", cache.toString()), warnings);
    }

    private Path entry() throws IOException {
        try (Stream<Path> entries = Files.list(cache)) {
            List<Path> all = entries.toList();
            assertEquals(1, all.size(), all.toString());
            return all.getFirst();
        }
    }
}
