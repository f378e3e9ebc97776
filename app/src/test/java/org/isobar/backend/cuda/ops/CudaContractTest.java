package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.tensor.DType;
import org.isobar.verify.GoldenTests;
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
 * The contract in every type and the golden cases on a GPU: once as {@code --enable_jit} has it, in TF32; once with a
 * kernel for each operation, in full single precision, with the faster gradient of queries. The same bits come out
 * twice but for the latter. On the simulated machine most of this is slow, and the contract is that of fused kernels in
 * BF16.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("cuda")
class CudaContractTest {
    /** Definitions of kernels that the simulated machine runs with {@code -Pslow} only. */
    private static final Set<String> SLOW =
        Set.of(TypedKernel.define(DType.F16), TypedKernel.define(DType.F32), "ATOMIC=1");
    private static CudaDevice fused;
    private static CudaDevice separate;

    @BeforeAll
    static void open() throws Exception {
        fused = open(new CudaOptions(Fusion.FUSED, SinglePrecision.TF32, QueryGradient.DETERMINISTIC));
        separate = open(new CudaOptions(Fusion.SEPARATE, SinglePrecision.FULL, QueryGradient.ATOMIC));
        KernelPreparation.compileContract(unit -> !isSimulated() || Collections.disjoint(unit.defines(), SLOW));
    }

    private static CudaDevice open(CudaOptions options) {
        return new CudaDevice(0, options, System.getenv(), line -> { });
    }

    @AfterAll
    static void close() {
        separate.close();
        fused.close();
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> fusedKernelsKeepTheContract() {
        List<ContractCase> all = TensorOpsContract.cases(fused);
        return fusedCases(isSimulated() ? Bf16Cases.of(all) : all);
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> separateKernelsKeepTheContract() {
        return isSimulated() ? Stream.empty() : separateCases();
    }

    /**
     * The other cases on the simulated machine, which {@link PtxContractTest} runs on the code of NVRTC: the simulated
     * machine compiles the same source for all types, and has separate kernels in BF16 in {@link PtxTwinTest}.
     */
    @Tag("slow")
    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> kernelsOfOtherTypesKeepTheContractOnTheSimulatedMachine() {
        List<ContractCase> others = new ArrayList<>(TensorOpsContract.cases(fused));
        others.removeAll(Bf16Cases.of(others));
        return isSimulated() ? Stream.concat(fusedCases(others), separateCases()) : Stream.empty();
    }

    private static Stream<DynamicTest> fusedCases(List<ContractCase> cases) {
        return cases.stream().map(one -> dynamicTest(one.name(), () ->
            assertEquals(one.run(fused), one.run(fused), "bits differ from run to run")));
    }

    private static Stream<DynamicTest> separateCases() {
        return TensorOpsContract.cases(separate).stream().map(one -> dynamicTest(one.name(), () -> one.run(separate)));
    }

    /** The fused kernel sums what it stores, as it is stored. */
    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> theGradientOfBiasAndGeluHasTheSameBitsFusedAndSeparate() {
        TensorOpsContract.cases(separate); // which makes room for them there
        return TensorOpsContract.cases(fused).stream().filter(one -> one.operation().equals("biasGeluBackward"))
            .map(one -> dynamicTest(one.name(), () -> assertEquals(one.run(separate), one.run(fused))));
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> goldenCasesHold() {
        return isSimulated() ? Stream.empty() : goldenCases();
    }

    /**
     * {@link PtxGoldenTest} runs them in F32 and BF16 on the code of NVRTC, and {@code SecondAttentionCheckTest} in F16
     * on the simulated machine.
     */
    @Tag("slow")
    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> goldenCasesHoldOnTheSimulatedMachine() {
        return isSimulated() ? goldenCases() : Stream.empty();
    }

    private static Stream<DynamicTest> goldenCases() {
        return Stream.concat(golden(fused, TensorOpsContract.types(fused)), golden(separate, List.of(DType.F32)));
    }

    private static boolean isSimulated() {
        return fused.description().startsWith("Simulated GPU");
    }

    @Tag("slow")
    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> goldenCasesHoldInHalfPrecisionWithSeparateKernels() {
        return golden(separate, List.of(DType.F16, DType.BF16));
    }

    private static Stream<DynamicTest> golden(CudaDevice device, List<DType> types) {
        String how = device == fused ? ", fused, TF32" : ", separate, full single precision";
        return GoldenTests.of(device, types, how);
    }
}
