package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.device.Arena;
import org.isobar.device.TensorOps;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** A CPU device for tests, with tensors of known contents. */
final class CpuFixture implements AutoCloseable {
    /** Half the distance from 1 to the next float: the greatest relative error of one rounding. */
    static final double EPSILON = 0x1p-24;

    private final CpuDevice device;
    private final Arena arena;

    CpuFixture(int threads) {
        device = new CpuDevice(threads);
        arena = device.arena("test", 1 << 24);
    }

    TensorOps ops() {
        return device.ops();
    }

    /** Numbers from -1 to 1, the same for the same seed and extents. */
    Tensor random(long seed, long... extents) {
        Philox.Key key = Philox.Key.of(seed, "test");
        float[] values = new float[(int) Shape.of(extents).elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (2 * Philox.uniform(key, i) - 1);
        }
        return of(values, extents);
    }

    /** The given numbers. */
    Tensor of(float[] values, long... extents) {
        Tensor tensor = arena.allocate(DType.F32, extents);
        device.upload(tensor, MemorySegment.ofArray(values));
        return tensor;
    }

    /** The same numbers, rounded to another type. */
    Tensor cast(Tensor tensor, DType dtype) {
        Tensor copy = arena.allocate(dtype, tensor.shape().extents());
        ops().cast(copy, tensor);
        return copy;
    }

    /** What an operation must overwrite and never read. */
    Tensor poisoned(long... extents) {
        return poisoned(DType.F32, extents);
    }

    /** What an operation must overwrite and never read. */
    Tensor poisoned(DType dtype, long... extents) {
        Tensor tensor = arena.allocate(dtype, extents);
        ops().fill(tensor, Double.NaN);
        return tensor;
    }

    /** The numbers in a tensor. */
    static float[] values(Tensor tensor) {
        return HostStorage.of(tensor).toArray(ValueLayout.JAVA_FLOAT);
    }

    @Override
    public void close() {
        arena.close();
        device.close();
    }
}
