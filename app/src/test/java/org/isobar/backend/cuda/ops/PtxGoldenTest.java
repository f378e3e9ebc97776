package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.tensor.DType;
import org.isobar.verify.GoldenTests;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The golden cases on the code that the real NVRTC makes of the kernels, as {@code --enable_jit} has it, in TF32. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("ptx")
class PtxGoldenTest {
    private static CudaDevice device;

    @BeforeAll
    static void open() throws Exception {
        KernelPreparation.compileContract(unit -> true);
        device = new CudaDevice(0, new CudaOptions(Fusion.FUSED, SinglePrecision.TF32, QueryGradient.DETERMINISTIC),
            System.getenv(), line -> { });
    }

    @AfterAll
    static void close() {
        device.close();
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> goldenCasesHold() {
        return GoldenTests.of(device, List.of(DType.F32, DType.BF16), "");
    }
}
