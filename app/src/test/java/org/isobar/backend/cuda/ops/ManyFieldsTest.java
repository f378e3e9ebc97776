package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaFixture;
import org.isobar.device.DeviceArena;
import org.isobar.device.Footprint;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Batches of more fields, samples times channels, than the second dimension of a grid has blocks: 65535. */
@Tag("cuda")
class ManyFieldsTest {
    private static final int SAMPLES = 32_769;
    private static final int CHANNELS = 2;
    private static final int HEIGHT = 2;
    private static final int FIELDS = SAMPLES * CHANNELS;

    private CudaDevice device;
    private DeviceArena arena;
    private Tensor images;
    private Tensor zeros;
    private Tensor mean;
    private Tensor std;
    private Tensor rmse;

    @BeforeEach
    void open() {
        device = CudaFixture.device();
        device.reserve(new Footprint(1, 1, FIELDS * HEIGHT, FIELDS, Set.of(), Set.of(), Set.of(), Set.of()));
        arena = device.arena("fields", 2 << 20);
        images = arena.f32(SAMPLES, CHANNELS, HEIGHT, 1);
        zeros = arena.f32(SAMPLES, CHANNELS, HEIGHT, 1);
        mean = arena.f32(CHANNELS);
        std = arena.f32(CHANNELS);
        rmse = arena.allocate(DType.F64, CHANNELS);
        device.upload(images, MemorySegment.ofArray(values((sample, channel) -> sample % 5 + channel)));
        device.ops().memory().fill(zeros, 0);
        device.upload(mean, MemorySegment.ofArray(new float[] {0, 4}));
        device.upload(std, MemorySegment.ofArray(new float[] {1, 0.5f}));
    }

    @AfterEach
    void close() {
        arena.close();
        device.close();
    }

    /** A value for each sample and channel, which all pixels have. */
    private static float[] values(IntBinaryOperator value) {
        float[] values = new float[FIELDS * HEIGHT];
        for (int i = 0; i < values.length; i++) {
            values[i] = value.applyAsInt(i / HEIGHT / CHANNELS, i / HEIGHT % CHANNELS);
        }
        return values;
    }

    private void compute(Tensor x, Tensor target) {
        device.ops().losses().weightedRmse(rmse, x, target);
        device.ops().images().normalize(x, x, mean, std);
    }

    /** A capture checks the sizes of grids and runs nothing. */
    @Test
    void gridsHaveABlockForEachField() {
        Tensor x = arena.f32(1, CHANNELS, HEIGHT, 1);
        device.ops().memory().fill(x, 0);
        compute(x, x); // loads the kernels
        assertDoesNotThrow(() -> device.capture(() -> compute(images, zeros)).close());
    }

    @Test
    @Tag("slow") // two minutes on the simulated machine
    void eachFieldIsScoredAndNormalized() {
        compute(images, zeros);
        double[] scores = new double[CHANNELS];
        device.download(MemorySegment.ofArray(scores), rmse);
        for (int channel = 0; channel < CHANNELS; channel++) {
            int added = channel;
            assertEquals(IntStream.range(0, SAMPLES).map(sample -> sample % 5 + added).average().orElseThrow(),
                scores[channel], 1e-12);
        }
        assertArrayEquals(values((sample, channel) -> channel == 0 ? sample % 5 : 2 * (sample % 5 - 3)),
            CudaFixture.values(device, images));
    }
}
