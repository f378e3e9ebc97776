package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.cuda.BareDevice;
import org.isobar.backend.cuda.kernels.KernelSource;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.tensor.DType;
import org.isobar.verify.contract.ContractCase;
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
 * in single precision where they have no other type.
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
        compiled = new BareDevice(options, again, List.of("--fmad=false"));
        twin = new BareDevice(options, again, List.of("-DSIM_CXX"));
        TensorOpsContract.cases(twin); // which makes room for them there
    }

    @AfterAll
    static void close() {
        compiled.close();
        twin.close();
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> theBitsAreTheSame() {
        List<ContractCase> all = TensorOpsContract.cases(compiled);
        Set<String> ofAnyType = all.stream().filter(one -> one.types().compute() == DType.BF16)
            .map(ContractCase::operation).collect(Collectors.toSet());
        return all.stream().filter(one -> !UNDEFINED.containsKey(one.operation()))
            .filter(one -> one.types().compute() == DType.BF16 || !ofAnyType.contains(one.operation()))
            .map(one -> dynamicTest(one.name(), () -> assertEquals(one.run(twin), one.run(compiled))));
    }
}
