package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaOptions.Fusion;
import org.isobar.backend.cuda.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.verify.Case;
import org.isobar.verify.TensorOpsContract;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** The contract on a GPU in both ways in which operations are carried out; each case twice, with the same bits. */
@Tag("cuda")
class CudaTensorOpsTest {
    private final List<BareDevice> devices = new ArrayList<>();

    @AfterEach
    void close() {
        devices.forEach(BareDevice::close);
    }

    @TestFactory
    Stream<DynamicTest> holdsWithOneKernelForEachOperation() {
        return cases(Fusion.SEPARATE);
    }

    @TestFactory
    Stream<DynamicTest> holdsWithOperationsFused() {
        return cases(Fusion.FUSED);
    }

    private Stream<DynamicTest> cases(Fusion fusion) {
        BareDevice device = new BareDevice(
            new CudaOptions(fusion, SinglePrecision.FULL, QueryGradient.DETERMINISTIC), UnaryOperator.identity());
        devices.add(device);
        return TensorOpsContract.cases(device).stream().filter(CudaTensorOpsTest::isOurs)
            .map(one -> DynamicTest.dynamicTest(one.name(), () ->
                assertEquals(one.run(device), one.run(device), "bits differ from call to call")));
    }

    /** Products and attention have tests of their own. */
    private static boolean isOurs(Case one) {
        return !one.operation().startsWith("attention") && !one.operation().startsWith("linear");
    }
}
