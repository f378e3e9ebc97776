package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Where parameters lie and how they start. */
class ParameterStoreTest {
    private static final Initializer NORMAL = new Initializer.Normal(0.02);

    @Test
    void liesInReverseOrderOfDeclaration() {
        with(store -> {
            Parameter first = root(store).declare("first", NORMAL, Shard.whole(), 3);
            Parameter second = root(store).declare("second", NORMAL, Shard.whole(), 5);
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
            root(store).stack(List.of("k", "v"), NORMAL, Shard.whole(), 6, 5);
            return device -> values[0] = read(device, store.stateDict().get("v"));
        });
        with(store -> {
            root(store).declare("v", NORMAL, Shard.whole(), 6, 5);
            return device -> values[1] = read(device, store.stateDict().get("v"));
        });
        assertArrayEquals(values[1], values[0]);
        assertFalse(Arrays.equals(new float[30], values[0]));
    }

    @Test
    void initialWeightsHaveTheirMoments() {
        with(store -> {
            Parameter normal = root(store).declare("normal", NORMAL, Shard.whole(), 200, 500);
            Parameter uniform = root(store).declare("uniform", new Initializer.Uniform(0.5),
                Shard.whole(), 100_000);
            Parameter ones = root(store).declare("ones", new Initializer.Constant(1), Shard.whole(), 7);
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

    private static ParameterScope root(ParameterStore store) {
        return ParameterScope.root(store, Layout.of(Communicators.alone((y, x) -> { }), 1));
    }

    @Test
    void everyCutStartsFromTheSameBits() {
        float[] whole = initial(Shard.whole());
        for (int parts : new int[] {2, 3, 6}) {
            for (int index = 0; index < parts; index++) {
                float[] rows = initial(new Shard(0, parts, index));
                float[] columns = initial(new Shard(1, parts, index));
                for (int i = 0; i < 6; i++) {
                    for (int j = 0; j < 18; j++) {
                        float expected = whole[i * 18 + j];
                        if (i / (6 / parts) == index) {
                            assertEquals(expected, rows[i % (6 / parts) * 18 + j]);
                        }
                        if (j / (18 / parts) == index) {
                            assertEquals(expected, columns[i * (18 / parts) + j % (18 / parts)]);
                        }
                    }
                }
            }
        }
    }

    private static float[] initial(Shard shard) {
        float[][] values = new float[1][];
        with(store -> {
            root(store).declare("weight", NORMAL, shard, 6, 18);
            return device -> values[0] = read(device, store.stateDict().get("weight"));
        });
        return values[0];
    }

    /** Declares, then checks what lies where. */
    private interface Declaration {
        Consumer<Device> declare(ParameterStore store);
    }

    private static void with(Declaration declaration) {
        ParameterStore store = new ParameterStore();
        Consumer<Device> check = declaration.declare(store);
        try (Device device = new CpuDevice(1); DeviceArena arena = device.arena("parameters", 1 << 21)) {
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
