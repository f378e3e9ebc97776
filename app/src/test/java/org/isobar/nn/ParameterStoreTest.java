package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Where parameters lie and how they start. */
class ParameterStoreTest {
    private static final Initializer NORMAL = new Initializer.Normal(0.02);

    @Test
    void liesInReverseOrderOfDeclaration() {
        with(store -> {
            Parameter first = store.declare(Shape.of(3), part("first", 3));
            Parameter second = store.declare(Shape.of(5), part("second", 5));
            return device -> {
                assertEquals(128, store.elements());
                assertEquals(8, store.count());
                assertEquals(store.values().offset(), second.value().offset());
                assertEquals(store.values().offset() + 64 * Float.BYTES, first.value().offset());
                assertEquals(List.of("first", "second"), List.copyOf(store.stateDict().keySet()));
            };
        });
    }

    @Test
    void aStackedWeightStartsAsItWouldAlone() {
        float[][] values = new float[2][];
        with(store -> {
            Scoped.root(store).stack(List.of("k", "v"), NORMAL, 6, 5);
            return device -> values[0] = read(device, store.stateDict().get("v"));
        });
        with(store -> {
            Scoped.root(store).declare("v", NORMAL, 6, 5);
            return device -> values[1] = read(device, store.stateDict().get("v"));
        });
        assertArrayEquals(values[1], values[0]);
        assertFalse(Arrays.equals(new float[30], values[0]));
    }

    @Test
    void initialWeightsHaveTheirMoments() {
        with(store -> {
            Parameter normal = store.declare(Shape.of(200, 500), part("normal", 200, 500));
            Parameter uniform = Scoped.root(store).declare("uniform", new Initializer.Uniform(0.5), 100_000);
            Parameter ones = Scoped.root(store).declare("ones", new Initializer.Constant(1), 7);
            return device -> {
                assertEquals(0, mean(read(device, normal.value())), 5 * 0.02 / Math.sqrt(1e5));
                assertEquals(0.02, std(read(device, normal.value())), 5 * 0.02 / Math.sqrt(2e5));
                assertEquals(0, mean(read(device, uniform.value())), 5 * 0.29 / Math.sqrt(1e5));
                assertEquals(0.5 / Math.sqrt(3), std(read(device, uniform.value())), 0.005);
                assertArrayEquals(new float[] {1, 1, 1, 1, 1, 1, 1}, read(device, ones.value()));
                assertArrayEquals(new float[7], read(device, ones.gradient()));
            };
        });
    }

    private static Parameter.Part part(String name, long... extents) {
        return new Parameter.Part(name, Shape.of(extents), NORMAL);
    }

    /** Declares, then checks what lies where. */
    private interface Declaration {
        Consumer<Device> declare(ParameterStore store);
    }

    private static void with(Declaration declaration) {
        ParameterStore store = new ParameterStore();
        Consumer<Device> check = declaration.declare(store);
        try (Device device = new CpuDevice(1); Arena arena = device.arena("parameters", 1 << 21)) {
            Tensor values = arena.f32(store.elements());
            store.bind(values, arena.f32(store.elements()));
            store.initialize(device, 11);
            check.accept(device);
        }
    }

    private static float[] read(Device device, Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }

    private static double mean(float[] values) {
        double sum = 0;
        for (float value : values) {
            sum += value;
        }
        return sum / values.length;
    }

    private static double std(float[] values) {
        double mean = mean(values);
        double sum = 0;
        for (float value : values) {
            sum += (value - mean) * (value - mean);
        }
        return Math.sqrt(sum / values.length);
    }
}
