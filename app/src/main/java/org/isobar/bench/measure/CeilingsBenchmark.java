package org.isobar.bench.measure;

import static org.isobar.device.DeviceArena.align;

import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.Footprint;
import org.isobar.device.Stopwatch;
import org.isobar.device.ops.Epilogue;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Measures the throughput of copies in device memory and of large square matrix products, as upper bounds. */
public final class CeilingsBenchmark {
    private static final int WARMUP = 3;
    private static final int REPETITIONS = 10;

    private final Device device;
    private final Timing timing;

    /** Creates a benchmark of {@code device}, which the caller closes. */
    public CeilingsBenchmark(Device device, Timing timing) {
        this.device = device;
        this.timing = timing;
    }

    /**
     * Runs the benchmark.
     *
     * @param bytes size of the copied range
     * @param size  rows and columns of the matrices
     */
    public CeilingsResult run(long bytes, int size) {
        Map<String, Spread> products = new LinkedHashMap<>();
        for (DType dtype : List.of(DType.BF16, DType.F16, DType.F32)) {
            if (device.supports(dtype)) {
                products.put(ProductTypes.name(device, dtype), product(dtype, size));
            }
        }
        return new CeilingsResult("isobar", device.description(), bytes, copy(bytes), size, products);
    }

    private Spread copy(long bytes) {
        try (DeviceArena arena = device.arena("copies", 2 * align(bytes))) {
            Tensor from = arena.f32(bytes / Float.BYTES);
            Tensor to = arena.f32(bytes / Float.BYTES);
            device.ops().memory().fill(from, 1);
            return repeat(() -> device.ops().memory().copy(to, from), 2.0 * from.bytes());
        }
    }

    private Spread product(DType dtype, int size) {
        device.reserve(new Footprint(size, Footprint.packed(size) * Footprint.packed(size), 0, 0, Set.of(), Set.of(),
            Set.of(), Set.of()));
        long bytes = (long) size * size * Float.BYTES;
        try (DeviceArena arena = device.arena("products", 5 * align(bytes))) {
            Tensor x = matrix(arena, dtype, size, "x");
            Tensor weight = matrix(arena, dtype, size, "weight");
            Tensor y = arena.allocate(dtype, size, size);
            return repeat(() -> device.ops().products().linear(y, x, weight, Epilogue.NONE), 2.0 * size * size * size);
        }
    }

    /** Fills a matrix with pseudorandom numbers. The values affect power draw and therefore the clock of a device. */
    private Tensor matrix(DeviceArena arena, DType dtype, int size, String name) {
        Tensor single = arena.f32(size, size);
        try (java.lang.foreign.Arena host = java.lang.foreign.Arena.ofShared()) {
            MemorySegment numbers = host.allocate(single.bytes(), Float.BYTES);
            SeededNumbers.fill(numbers, name, 0, 1);
            device.upload(single, numbers);
        }
        if (dtype == DType.F32) {
            return single;
        }
        Tensor matrix = arena.allocate(dtype, size, size);
        device.ops().memory().cast(matrix, single);
        return matrix;
    }

    /** Measures the rate of an operation: {@code work} per second. */
    private Spread repeat(Runnable operation, double work) {
        try (Stopwatch stopwatch = device.stopwatch()) {
            for (int i = 0; i < WARMUP; i++) {
                operation.run();
            }
            stopwatch.mark();
            for (int i = 0; i < REPETITIONS; i++) {
                operation.run();
                stopwatch.mark();
            }
            return Spread.of(stopwatch.laps(), timing, seconds -> work / seconds);
        }
    }
}
