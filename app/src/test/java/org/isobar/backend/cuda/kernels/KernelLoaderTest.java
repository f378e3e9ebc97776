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
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaFixture;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaLibraries;
import org.isobar.backend.cuda.driver.Gpu;
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
    void whatIsCompiledAheadIsNotCompiledAgain() throws IOException {
        List<KernelVariant> variants = variants(4);
        try (Gpu gpu = gpu(); KernelLoader loader = loader(gpu)) {
            loader.compileAhead(variants);
            for (KernelVariant variant : variants.reversed()) {
                loader.kernel(FILE, "fill_4", variant.defines().getFirst());
            }
            loader.kernel(FILE, "fill_4");
        }
        assertEquals(5, entries().size());
        for (Path entry : entries()) {
            Files.setLastModifiedTime(entry, FileTime.fromMillis(0));
        }
        try (Gpu gpu = gpu(); KernelLoader loader = loader(gpu)) {
            loader.compileAhead(variants);
            loader.kernel(FILE, "fill_4", variants.getFirst().defines().getFirst());
        }
        for (Path entry : entries()) {
            assertEquals(0, Files.getLastModifiedTime(entry).toMillis(), "it was compiled again");
        }
        assertEquals(List.of(), warnings);
    }

    /** What a thread compiles is finished, and the rest left out. */
    @Test
    void aClosedLoaderCompilesNoMore() throws IOException {
        int many = 100;
        try (Gpu gpu = gpu(); KernelLoader loader = loader(gpu)) {
            loader.compileAhead(variants(many));
            loader.kernel(FILE, "fill_4", "NUMBER=0");
        }
        int left = entries().size();
        assertTrue(left > 0 && left < many, left + " of " + many);
        assertEquals(List.of(), warnings);
    }

    @Test
    void whatCannotBeCompiledAheadFailsWhenItIsAskedFor() {
        try (Gpu gpu = gpu(); KernelLoader loader = loader(gpu)) {
            loader.compileAhead(List.of(new KernelVariant("gelu.cu", "gelu", List.of("TYPE=nonsense")),
                new KernelVariant(FILE, "fill_4", List.of())));
            loader.kernel(FILE, "fill_4");
            CudaException failure = assertThrows(CudaException.class,
                () -> loader.kernel("gelu.cu", "gelu", "TYPE=nonsense"));
            assertTrue(failure.getMessage().contains("nonsense"), failure.getMessage());
        }
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

    private static List<KernelVariant> variants(int count) {
        return IntStream.range(0, count).mapToObj(i -> new KernelVariant(FILE, "fill_4", List.of("NUMBER=" + i)))
            .toList();
    }

    private static Gpu gpu() {
        CudaLibraries.load();
        return new Gpu(0);
    }

    private KernelLoader loader(Gpu gpu) {
        return new KernelLoader(gpu, KernelCache.open(Map.of("ISOBAR_KERNEL_CACHE", cache.toString()), warnings::add));
    }

    private GpuResources stack() {
        return CudaFixture.stack(Map.of("ISOBAR_KERNEL_CACHE", cache.toString()), warnings);
    }

    private Path entry() throws IOException {
        List<Path> all = entries();
        assertEquals(1, all.size(), all.toString());
        return all.getFirst();
    }

    private List<Path> entries() throws IOException {
        try (Stream<Path> entries = Files.list(cache)) {
            return entries.filter(entry -> entry.toString().endsWith(".cubin")).toList();
        }
    }
}
