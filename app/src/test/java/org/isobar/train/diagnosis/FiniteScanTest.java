package org.isobar.train.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the search for the first non-finite tensor, and for the largest magnitude before it. */
class FiniteScanTest {
    private static final long ROWS = 70_001; // several chunks, the last one partial
    private static final long WIDTH = 6;

    private static void with(BiConsumer<FiniteScan, Layer> body) {
        try (Device device = new CpuDevice(1); DeviceArena arena = device.arena("outputs", 1 << 24)) {
            body.accept(new FiniteScan(device), (dtype, fill, at, value) -> {
                Tensor output = arena.allocate(dtype, ROWS, WIDTH);
                byte[] bytes = new byte[(int) output.bytes()];
                for (long i = 0; i < output.elements(); i++) {
                    put(bytes, dtype, i, i == at ? value : fill);
                }
                device.upload(output, MemorySegment.ofArray(bytes));
                return output;
            });
        }
    }

    private static void put(byte[] bytes, DType dtype, long index, double value) {
        long bits = dtype.bits(value);
        for (int i = 0; i < dtype.bytes(); i++) {
            bytes[(int) index * dtype.bytes() + i] = (byte) (bits >>> Byte.SIZE * i);
        }
    }

    /** Creates an output filled with one number, with another number at one index. */
    private interface Layer {
        Tensor of(DType dtype, double fill, long at, double value);
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void findsOneNumberInEveryType(DType dtype) {
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            with((survey, layer) -> {
                survey.output(List.of("a"), layer.of(dtype, 1, 7, -2.5));
                assertEquals(Optional.empty(), survey.firstName());
                survey.output(List.of("b"), layer.of(dtype, 1, ROWS * WIDTH - 1, bad));
                survey.output(List.of("c"), layer.of(dtype, 9, 0, bad));
                assertEquals(Optional.of("b"), survey.firstName());
                assertEquals(1, survey.first());
                assertEquals(List.of("a", "b", "c"), survey.names());
                assertEquals(new FiniteScan.Peak("a", 2.5), survey.peak());
            });
        }
    }

    /** Keys and values are the output of one product. */
    @Test
    void distinguishesPartsOfOneTensor() {
        for (int column = 0; column < WIDTH; column++) {
            int part = column / 2;
            long place = 5 * WIDTH + column;
            with((survey, layer) -> {
                survey.output(List.of("x", "y", "z"), layer.of(DType.F32, 1, place, Double.NaN));
                assertEquals(part, survey.first());
            });
            with((survey, layer) -> {
                survey.output(List.of("x", "y", "z"), layer.of(DType.F32, 1, place, -70_000));
                assertEquals(new FiniteScan.Peak(List.of("x", "y", "z").get(part), 70_000), survey.peak());
            });
        }
    }
}
