package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.backend.cuda.BareDevice;
import org.isobar.backend.cuda.kernels.KernelCache;
import org.isobar.backend.cuda.kernels.KernelCompiler;
import org.isobar.backend.cuda.kernels.KernelSource;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.verify.contract.TensorOpsContract;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * NVRTC's code on the PTX machine and the C++ version of the same sources give the same bits wherever the ISA defines
 * them. NVRTC is asked not to fuse products and sums, because the C++ version does not. The operations run in bf16, and
 * in single precision where they have no other type. The C++ version is that of the run of tests on the simulated
 * machine, if there was one.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("ptx")
class PtxTwinTest {
    /** The operations whose last bits the ISA leaves open, and where. */
    private static final Map<String, String> UNDEFINED = Map.of(
        "attention", "exp and log end in ex2.approx and lg2.approx; mma.sync has an order of sums of its own",
        "attentionBackward", "exp ends in ex2.approx; mma.sync has an order of sums of its own");
    private static BareDevice compiled;
    private static BareDevice twin;

    @BeforeAll
    static void open() {
        CudaOptions options = new CudaOptions(Fusion.SEPARATE, SinglePrecision.TF32, QueryGradient.DETERMINISTIC);
        UnaryOperator<KernelSource> again = source ->
            new KernelSource(source.file(), source.text() + "// compiled for this test", source.headers());
        KernelCompiler compiler = new KernelCompiler();
        compiled = new BareDevice(options, again, (source, flags) -> compile(compiler, source, flags, "--fmad=false"));
        KernelCache simulated = KernelCache.open(Map.of("ISOBAR_KERNEL_CACHE", "target/kernel-cache"), warning -> { });
        twin = new BareDevice(options, again, (source, flags) -> {
            String key = KernelCache.key(KernelSource.load(source.file()), flags);
            return simulated.read(key, Optional.of(compiler.identity()))
                .orElseGet(() -> compile(compiler, source, flags, "-DSIM_CXX"));
        });
        TensorOpsContract.cases(twin); // which makes room for them there
    }

    private static byte[] compile(KernelCompiler compiler, KernelSource source, List<String> options, String more) {
        return compiler.compile(source, Stream.concat(options.stream(), Stream.of(more)).toList()).image();
    }

    @AfterAll
    static void close() {
        compiled.close();
        twin.close();
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> theBitsAreTheSame() {
        return Bf16Cases.of(TensorOpsContract.cases(compiled)).stream()
            .filter(one -> !UNDEFINED.containsKey(one.operation()))
            .map(one -> dynamicTest(one.name(), () -> assertEquals(one.run(twin), one.run(compiled))));
    }
}
