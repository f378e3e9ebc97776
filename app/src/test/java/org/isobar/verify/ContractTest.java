package org.isobar.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.device.Device;
import org.isobar.tensor.DType;
import org.isobar.verify.contract.ContractCase;
import org.isobar.verify.contract.ContractViolation;
import org.isobar.verify.contract.TensorOpsContract;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Tests the contract itself in all types: correct operations pass every case, wrong ones fail. */
@Execution(ExecutionMode.CONCURRENT)
class ContractTest {
    private static final double TF32 = 0x1p-11;

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // its cases share a device
    Stream<DynamicTest> correctOperationsPass() {
        Device device = new ReferenceDevice(new ReferenceTensorOps());
        return TensorOpsContract.cases(device).stream().map(one -> dynamicTest(one.name(), () ->
            assertTrue(one.run(device) != 0)));
    }

    @TestFactory
    Stream<DynamicTest> wrongOperationsFail() {
        return SpoiledOps.all().stream().flatMap(spoiled -> spoiled.operations().stream().map(operation ->
            dynamicTest(operation + " that " + spoiled.what(), () ->
                assertEquals(EnumSet.copyOf(spoiled.types()),
                    failing(new ReferenceDevice(spoiled.ops()), operation)))));
    }

    @Test
    void declaredOperandRoundingPasses() {
        Device device = new ReferenceDevice(new SpoiledOps.RoundsOperands(11), TF32, false);
        for (String operation : List.of("linear", "attention", "attentionBackward")) {
            assertEquals(Set.of(), failing(device, operation), operation);
        }
    }

    @Test
    void declaredRoundingBeforeAddingPasses() {
        Device device = new ReferenceDevice(new SpoiledOps.RoundsProducts(), 0, true);
        for (String operation : List.of("linear", "linearBackwardInput")) {
            assertEquals(Set.of(), failing(device, operation), operation);
        }
    }

    @Test
    void coarserOperandRoundingThanDeclaredFails() {
        Device device = new ReferenceDevice(new SpoiledOps.RoundsOperands(8), TF32, false);
        for (String operation : List.of("linear", "attention", "attentionBackward")) {
            assertTrue(failing(device, operation).contains(DType.F32), operation);
        }
    }

    /** Types in which a case of the operation fails. */
    private static Set<DType> failing(Device device, String operation) {
        Set<DType> failing = EnumSet.noneOf(DType.class);
        for (ContractCase one : TensorOpsContract.cases(device)) {
            if (one.operation().equals(operation) && !failing.contains(one.types().compute())) {
                try {
                    one.run(device);
                } catch (ContractViolation violation) {
                    failing.add(one.types().compute());
                }
            }
        }
        return failing;
    }
}
