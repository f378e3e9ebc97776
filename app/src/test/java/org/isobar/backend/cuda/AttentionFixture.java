package org.isobar.backend.cuda;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Set;

import org.isobar.backend.cpu.AttentionReference;
import org.isobar.backend.cuda.CudaOptions.Fusion;
import org.isobar.backend.cuda.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.device.Arena;
import org.isobar.device.AttentionShape;
import org.isobar.device.Dropout;
import org.isobar.device.Footprint;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Attention in both directions on the first GPU, real or simulated. */
final class AttentionFixture implements AutoCloseable {
    private static final long BYTES = 16L << 20;

    private final CudaDevice device;
    private final DType dtype;
    private int shift;

    AttentionFixture(DType dtype, SinglePrecision single, QueryGradient gradient) {
        device = new CudaDevice(0, new CudaOptions(Fusion.FUSED, single, gradient), System.getenv(), line -> { });
        this.dtype = dtype;
    }

    /** Results of both directions, or what they should be. */
    record Results(float[] out, float[] lse, float[] dq, float[] dkv) { }

    /** What both directions are given: numbers that the type has. */
    record Inputs(AttentionShape shape, Dropout dropout, float[] q, float[] kv, float[] dOut) {
        AttentionReference reference() {
            return new AttentionReference(shape, dropout, q, kv, dOut);
        }
    }

    /** From now on tensors begin so many elements past a multiple of 256 bytes. */
    AttentionFixture shifted(int elements) {
        shift = elements;
        return this;
    }

    /** Standard normal numbers; those of the queries times {@code spread}, those of dOut times {@code scale}. */
    Inputs inputs(AttentionShape shape, Dropout dropout, double spread, double scale) {
        int queries = (int) (shape.batch() * shape.queries() * shape.heads() * shape.headDim());
        int keys = (int) (2 * shape.batch() * shape.keys() * shape.heads() * shape.headDim());
        return new Inputs(shape, dropout, rounded(normal("q", queries, spread)), rounded(normal("kv", keys, 1)),
            rounded(normal("dOut", queries, scale)));
    }

    private static float[] normal(String name, int count, double factor) {
        Philox.Key key = Philox.Key.of(5, name);
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = (float) (factor * Philox.normal(key, i));
        }
        return numbers;
    }

    private float[] rounded(float[] numbers) {
        try (Arena arena = device.arena("numbers", BYTES)) {
            return download(arena, upload(arena, numbers, numbers.length));
        }
    }

    Results run(Inputs in) {
        AttentionShape shape = in.shape();
        long[] queries = {shape.batch(), shape.queries(), shape.heads(), shape.headDim()};
        long[] keys = {shape.batch(), shape.keys(), 2, shape.heads(), shape.headDim()};
        device.reserve(new Footprint(1, 1, 1, 1, Set.of(), Set.of(shape)));
        try (Arena arena = device.arena("attention", BYTES)) {
            Tensor q = upload(arena, in.q(), queries);
            Tensor kv = upload(arena, in.kv(), keys);
            Tensor dOut = upload(arena, in.dOut(), queries);
            Tensor out = poisoned(arena, dtype, queries);
            Tensor lse = poisoned(arena, DType.F32, shape.batch(), shape.heads(), shape.queries());
            Tensor dq = poisoned(arena, dtype, queries);
            Tensor dkv = poisoned(arena, dtype, keys);
            device.ops().attention(out, lse, q, kv, shape, in.dropout());
            device.ops().attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, in.dropout());
            return new Results(download(arena, out), CudaFixture.values(device, lse), download(arena, dq),
                download(arena, dkv));
        }
    }

    private Tensor allocate(Arena arena, DType type, long... extents) {
        long elements = Arrays.stream(extents).reduce(1, (x, y) -> x * y);
        return arena.allocate(type, shift + elements).slice(shift, elements).reshape(extents);
    }

    private Tensor poisoned(Arena arena, DType type, long... extents) {
        Tensor tensor = allocate(arena, type, extents);
        device.ops().fill(tensor, Double.NaN);
        return tensor;
    }

    private Tensor upload(Arena arena, float[] numbers, long... extents) {
        Tensor exact = arena.allocate(DType.F32, extents);
        device.upload(exact, MemorySegment.ofArray(numbers));
        Tensor tensor = allocate(arena, dtype, extents);
        device.ops().cast(tensor, exact);
        return tensor;
    }

    private float[] download(Arena arena, Tensor tensor) {
        Tensor exact = arena.allocate(DType.F32, tensor.elements());
        device.ops().cast(exact, tensor.reshape(tensor.elements()));
        return CudaFixture.values(device, exact);
    }

    @Override
    public void close() {
        device.close();
    }
}
