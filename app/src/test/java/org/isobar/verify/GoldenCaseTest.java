package org.isobar.verify;

import static org.isobar.verify.GoldenTests.tooLarge;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.verify.contract.TensorOpsContract;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Compares a model with PyTorch: on the CPU, and on the reference device in every type. */
@Execution(ExecutionMode.CONCURRENT)
class GoldenCaseTest {

    @TestFactory
    Stream<DynamicTest> cpuAgreesWithPyTorch() {
        return GoldenCase.all().stream().map(golden -> dynamicTest(golden.name(), () -> {
            try (Device device = new CpuDevice(2)) {
                List<GoldenCase.Deviation> deviations = golden.run(device, DType.F32);
                assertEquals(List.of(), tooLarge(deviations));
                assertTrue(deviations.stream().filter(d -> d.what().startsWith("gradient")).count() > 15);
            }
        }));
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> everyTypeIsWithinItsBounds() {
        Device device = new ReferenceDevice(new ReferenceTensorOps());
        return GoldenTests.of(device, TensorOpsContract.types(device), "");
    }

    /** The bounds are tight enough to find a missing gradient of one of 64 tokens. */
    @Test
    void aMissingPartOfAGradientIsFound() {
        Device device = new ReferenceDevice(new ReferenceTensorOps() {
            @Override
            public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
                super.biasGeluBackward(dx, y, dBias, dy, x);
                fill(dx.reshape(dx.elements()).slice(0, dx.elements() / 64), 0);
            }
        });
        for (DType compute : TensorOpsContract.types(device)) {
            assertNotEquals(List.of(), tooLarge(GoldenCase.all().getFirst().run(device, compute)), compute.toString());
        }
    }

    @Test
    void nanIsNotWithinTolerance() {
        assertTrue(!new GoldenCase.Deviation("x", Double.NaN, 1).isWithinTolerance());
    }
}
