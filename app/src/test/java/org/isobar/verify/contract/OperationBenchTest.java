package org.isobar.verify.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.function.Consumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.verify.reference.ExpectedTensor;
import org.junit.jupiter.api.Test;

/** The contract's own eyes: does it see what a faulty operation would do? */
class OperationBenchTest {
    @Test
    void seesAnElementThatWasNotWritten() {
        assertViolation("1 of 8 elements are wrong; at 7 expected 2.0", bench -> {
            GuardedTensor y = bench.output("y", 8);
            bench.ops().memory().fill(y.tensor().slice(0, 7), 2);
            bench.expect(y, ExpectedTensor.exactly(filled(8, 2)));
        });
    }

    @Test
    void seesAWrongElement() {
        assertViolation("at 3 expected 1.0 +- ", bench -> {
            GuardedTensor y = bench.output("y", 8);
            bench.ops().memory().fill(y.tensor(), 1);
            bench.ops().memory().fill(y.tensor().slice(3, 1), 1 + 0x1p-20);
            bench.expect(y, ExpectedTensor.sums(8, 1).plus(filled(8, 1)));
        });
    }

    @Test
    void acceptsRounding() {
        run(bench -> {
            GuardedTensor y = bench.output("y", 8);
            bench.ops().memory().fill(y.tensor(), 1 + 0x1p-22);
            bench.expect(y, ExpectedTensor.sums(8, 1).plus(filled(8, 1)));
        });
    }

    @Test
    void seesAWriteBehindATensor() {
        assertViolation("byte 32 of 32 lies outside", bench -> {
            Tensor y = bench.output("y", 8).tensor();
            bench.ops().memory().fill(new Tensor(y.storage(), y.offset(), DType.F32, y.reshape(2, 4).shape()), 1);
            bench.ops().memory().fill(new Tensor(y.storage(), y.offset() + 32, DType.F32, y.slice(0, 1).shape()), 1);
        });
    }

    @Test
    void seesAWriteBeforeATensor() {
        assertViolation("byte -4 of 32 lies outside", bench -> {
            Tensor y = bench.output("y", 8).tensor();
            bench.ops().memory().fill(new Tensor(y.storage(), y.offset() - 4, DType.F32, y.shape()), 1);
        });
    }

    @Test
    void seesAWriteToAnInput() {
        assertViolation("byte 16 of 32 was written, but is only to be read", bench ->
            bench.ops().memory().fill(bench.input("x", new double[8], 8).tensor().slice(4, 1), 0x1p-149));
    }

    @Test
    void digestsTellResultsApart() {
        assertEquals(digest(1), digest(1));
        assertNotEquals(digest(1), digest(1 + 0x1p-23));
    }

    @Test
    void randomNumbersAreSigned() {
        run(bench -> {
            double[] numbers = bench.random("x", 1000);
            assertTrue(Arrays.stream(numbers).filter(number -> number < 0).count() > 400);
            assertTrue(Arrays.stream(numbers).filter(number -> number > 0).count() > 400);
        });
    }

    private static double[] filled(int count, double value) {
        double[] values = new double[count];
        Arrays.fill(values, value);
        return values;
    }

    private static long digest(double value) {
        return run(bench -> bench.ops().memory().fill(bench.output("y", 8).tensor(), value));
    }

    private static long run(Consumer<OperationBench> body) {
        try (CpuDevice device = new CpuDevice(1)) {
            return new ContractCase("test", OperandTypes.SINGLE, "case", body).run(device);
        }
    }

    private static void assertViolation(String what, Consumer<OperationBench> body) {
        String message = assertThrows(ContractViolation.class, () -> run(body)).getMessage();
        assertTrue(message.contains("test F32 case: ") && message.contains(what), message);
    }
}
