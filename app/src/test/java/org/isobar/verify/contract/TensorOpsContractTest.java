package org.isobar.verify.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.ops.TensorOps;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The contract on the CPU: right on one thread and on several, bit for bit the same, and accepted by the checks. */
class TensorOpsContractTest {
    private static Device serial;
    private static Device parallel;

    @BeforeAll
    static void open() {
        serial = new CpuDevice(1);
        parallel = new CpuDevice(3);
    }

    @AfterAll
    static void close() {
        serial.close();
        parallel.close();
    }

    @TestFactory
    Stream<DynamicTest> holdsOnTheCpu() {
        return TensorOpsContract.cases(serial).stream().map(one -> DynamicTest.dynamicTest(one.name(), () ->
            assertEquals(one.run(serial), one.run(parallel), "bits depend on the number of threads")));
    }

    @Test
    void everyOperationHasACase() {
        List<String> operations = Arrays.stream(TensorOps.class.getRecordComponents())
            .flatMap(family -> Arrays.stream(family.getType().getMethods())).map(Method::getName).sorted().toList();
        Set<String> covered = TensorOpsContract.cases(serial).stream().map(ContractCase::operation)
            .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(operations, List.copyOf(covered)); // each name once
    }

    @Test
    void casesHaveNamesOfTheirOwn() {
        List<String> names = TensorOpsContract.cases(serial).stream().map(ContractCase::name).toList();
        assertEquals(names.size(), Set.copyOf(names).size());
        assertTrue(names.size() > 100);
    }
}
