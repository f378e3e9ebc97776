package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.kernels.KernelBinary;
import org.isobar.backend.cuda.kernels.KernelCompiler;
import org.isobar.backend.cuda.kernels.KernelSource;
import org.isobar.backend.cuda.ops.AttentionKernels.Variant;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every kernel in every variant through the real NVRTC, which needs no GPU; and what ptxas says of them. The table for
 * compute capability 9.0 stands in docs/kernels.md; {@code -Pslow -Disobar.kernels.write=true} writes it anew.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("nvrtc")
class KernelCompilationTest {
    private static final Path FOUND = Path.of("target/kernels.md");
    /** Lines of kernels that only slow tests compile. */
    private static final Pattern LEFT_OUT =
        Pattern.compile("^\\| `attention_[^|]*\\| `(half_t`|float[^|]*\\| (?!(%s) ))".formatted(
            KernelTable.PRESET_HEADS.stream().map(String::valueOf).collect(Collectors.joining("|"))));
    private static final int THREADS = 2;
    private static KernelCompiler compiler;

    @BeforeAll
    static void load() {
        compiler = new KernelCompiler();
    }

    /** Not the simulated machine's. */
    @Test
    void theCompilerIsTheRedistributableOne() throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            List<String> compilers = maps.filter(line -> line.contains("libnvrtc.so"))
                .map(line -> line.substring(line.indexOf('/'))).distinct().toList();
            assertEquals(1, compilers.size(), compilers::toString);
            assertTrue(compilers.getFirst().contains("cuda-redist"), compilers::toString);
        }
    }

    /**
     * Slow tests alone compile attention in fp16, which differs from that in bf16 by its type alone, and attention in
     * fp32 for heads that no preset has.
     */
    @Test
    void kernelsOfHopperStayInRegistersAndAreInTheTable() throws Exception {
        KernelTable table = compile(90, variant -> variant.dtype() == DType.BF16
            || variant.dtype() == DType.F32 && KernelTable.PRESET_HEADS.contains(variant.headDim()));
        GeneratedSection.assertLines(KernelTable.HEADING, SpeedTable.SECTION, LEFT_OUT.asPredicate().negate(),
            table.markdown(), String::equals);
        assertEquals(List.of(), table.outsideRegisters());
    }

    @Test
    @Tag("slow")
    void allKernelsOfHopperStayInRegistersAndAreTheTable() throws Exception {
        KernelTable table = compile(90, _ -> true);
        GeneratedSection.assertCurrent(KernelTable.HEADING, SpeedTable.SECTION, table.markdown(), FOUND,
            String::equals);
        assertEquals(List.of(), table.outsideRegisters());
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 86, 89, 100})
    @Tag("slow")
    void kernelsOfOtherGpusStayInRegisters(int capability) throws Exception {
        assertEquals(List.of(), compile(capability, _ -> true).outsideRegisters());
    }

    @Test
    void aKernelThatDoesNotCompileIsShownWithItsLog() {
        KernelSource broken = new KernelSource("broken.cu",
            "#include \"h.cuh\"\nextern \"C\" __global__ void k() { x; }",
            Map.of("h.cuh", ""));
        String message = assertThrows(CudaException.class, () ->
            compiler.compile(broken, KernelCompiler.options(90, List.of("TYPE=float")))).getMessage();
        assertTrue(message.contains("broken.cu(2)") && message.contains("identifier \"x\" is undefined")
            && message.contains("-DTYPE=float"), message);
    }

    /** Not a kernel's own stack alone, but that of a function that it calls too. */
    @Test
    void localMemoryIsSeen() {
        KernelSource source = new KernelSource("local.cu", """
            __device__ __noinline__ float at(const float* x, int i) {
                float copy[64];
                for (int j = 0; j < 64; ++j) {
                    copy[j] = x[j];
                }
                return copy[i] + copy[i / 2];
            }
            extern "C" __global__ void indirect(float* x, int i) { x[0] = at(x, i); }
            extern "C" __global__ void direct(float* x, int i) { x[0] = i; }
            """, Map.of());
        List<String> options = new ArrayList<>(KernelCompiler.options(90, List.of()));
        options.add("--ptxas-options=-v");
        Map<String, KernelUsage> usages = KernelUsage.of(compiler.compile(source, options).log());
        assertEquals(256, usages.get("indirect").local(), usages::toString);
        assertEquals(0, usages.get("direct").local(), usages::toString);
    }

    /** Compiles the selected kernels of attention in tiles, and all others. */
    private static KernelTable compile(int capability, Predicate<Variant> selected) throws Exception {
        KernelTable table = new KernelTable(capability, selected);
        List<Callable<Void>> compilations = new ArrayList<>();
        KernelUnit.of(table.kernels()).forEach((unit, kernels) -> compilations.add(() -> {
            KernelBinary compiled = CompiledUnits.of(capability, unit, compiler);
            kernels.forEach(kernel -> table.add(kernel, compiled.log()));
            return null;
        }));
        try (ExecutorService pool = Executors.newFixedThreadPool(THREADS)) {
            for (Future<Void> done : pool.invokeAll(compilations)) {
                done.get();
            }
        }
        return table;
    }
}
