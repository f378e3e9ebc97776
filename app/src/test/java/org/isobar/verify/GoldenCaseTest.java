package org.isobar.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The whole model against PyTorch. */
class GoldenCaseTest {

    @TestFactory
    Stream<DynamicTest> agreesWithPyTorch() {
        return GoldenCase.all().stream().map(golden -> dynamicTest(golden.name(), () -> {
            try (Device device = new CpuDevice(2)) {
                List<GoldenCase.Deviation> deviations = golden.run(device);
                List<GoldenCase.Deviation> tooLarge = deviations.stream().filter(d -> !d.isAcceptable()).toList();
                assertEquals(List.of(), tooLarge);
                assertTrue(deviations.stream().filter(d -> d.what().startsWith("gradient")).count() > 15);
            }
        }));
    }

    @Test
    void aNumberThatIsNotOneIsNotAcceptable() {
        assertTrue(!new GoldenCase.Deviation("x", Double.NaN, 1).isAcceptable());
    }
}
