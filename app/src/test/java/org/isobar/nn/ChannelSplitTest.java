package org.isobar.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How channels are put together and cut. Cutting is the adjoint of putting together, so each undoes the other. */
class ChannelSplitTest {
    @ParameterizedTest
    @CsvSource({"1, 5, 4", "2, 1, 3", "2, 7, 5", "3, 4, 1", "4, 6, 2"})
    void gatherPutsThePartsTogetherAndPartCutsThem(int ranks, int rows, int width) throws Exception {
        float[] whole = new float[ranks * rows * width];
        for (int i = 0; i < whole.length; i++) {
            whole[i] = i + 1;
        }
        GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, ranks)), (device, communicators) -> {
            ChannelSplit columns = new ChannelSplit(communicators.along(Axis.TP));
            int mine = communicators.coordinate(Axis.TP);
            float[] part = new float[rows * width];
            for (int i = 0; i < part.length; i++) {
                part[i] = whole[i / width * ranks * width + mine * width + i % width];
            }
            try (DeviceArena arena = device.arena("test", 1 << 16); DeviceArena.Scope scratch = arena.scope()) {
                Tensor all = scratch.f32(1, rows, (long) ranks * width);
                columns.gather(all, place -> write(device, place, part), scratch, device.ops());
                assertArrayEquals(whole, read(device, all));
                Tensor cut = columns.part(all, scratch, device.ops());
                assertArrayEquals(part, read(device, cut));
                assertEquals(3, cut.shape().rank());
                assertEquals(width, cut.shape().extent(-1));
            }
            return null;
        });
    }

    /** {@code <gather(x), y> = sum over ranks of <x, part(y)>} for a y that all ranks share. */
    @ParameterizedTest
    @CsvSource({"1, 5, 4", "2, 7, 5", "4, 6, 2"})
    void partIsTheAdjointOfGather(int ranks, int rows, int width) throws Exception {
        float[] y = new float[ranks * rows * width];
        for (int i = 0; i < y.length; i++) {
            y[i] = (float) Math.cos(i);
        }
        var products = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, ranks)), (device, communicators) -> {
            ChannelSplit columns = new ChannelSplit(communicators.along(Axis.TP));
            float[] x = new float[rows * width];
            for (int i = 0; i < x.length; i++) {
                x[i] = (float) Math.sin(i + 100 * communicators.coordinate(Axis.TP));
            }
            try (DeviceArena arena = device.arena("test", 1 << 16); DeviceArena.Scope scratch = arena.scope()) {
                Tensor all = scratch.f32(rows, (long) ranks * width);
                columns.gather(all, place -> write(device, place, x), scratch, device.ops());
                double gathered = dot(read(device, all), y);
                write(device, all, y);
                return new double[] {gathered, dot(x, read(device, columns.part(all, scratch, device.ops())))};
            }
        });
        double adjoint = products.stream().mapToDouble(product -> product[1]).sum();
        for (double[] product : products) {
            assertEquals(product[0], adjoint, 1e-5 * y.length);
        }
    }

    private static double dot(float[] a, float[] b) {
        assertEquals(a.length, b.length);
        return IntStream.range(0, a.length).mapToDouble(i -> (double) a[i] * b[i]).sum();
    }

    private static void write(Device device, Tensor tensor, float[] values) {
        device.upload(tensor, MemorySegment.ofArray(values));
    }

    private static float[] read(Device device, Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        device.download(MemorySegment.ofArray(values), tensor);
        return values;
    }
}
