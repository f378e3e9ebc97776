package org.isobar.backend.dryrun;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;

import org.isobar.device.DeviceArena;
import org.isobar.device.HostBuffer;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.ProductShape;
import org.isobar.device.ops.TensorOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Counting without computing. */
class DryRunDeviceTest {
    private final DryRunDevice device = new DryRunDevice();
    private final TensorOps ops = device.ops();
    private final DeviceArena arena = device.arena("test", 1);

    @Test
    void arenasHoldWhateverIsAsked() {
        Tensor huge = arena.f32(1L << 20, 1L << 20);
        assertEquals(1L << 42, huge.bytes());
        assertEquals(1L << 42, arena.highWatermark());
        assertEquals(0, huge.storage().address());
    }

    @Test
    void memoryIsWhatArenasAndBuffersWouldHold() {
        DeviceArena other = device.arena("other", 1);
        arena.f32(64);
        other.f32(128);
        other.reset();
        try (HostBuffer buffer = device.hostBuffer(DType.F32, Shape.of(10))) {
            assertEquals(Shape.of(10), buffer.toDevice().shape());
            assertEquals(0, buffer.segment().byteSize());
        }
        assertEquals(256 + 512 + 40, device.memory().highWatermark());
    }

    @Test
    void countsProducts() {
        Tensor x = arena.f32(2, 3, 5);
        Tensor weight = arena.f32(7, 5);
        Tensor y = arena.f32(2, 3, 7);
        ops.products().linear(y, x, weight, Epilogue.NONE);
        assertEquals(2 * 6 * 7 * 5, device.flops());
        ops.products().linearBackwardInput(arena.f32(2, 3, 5), y, weight, WriteMode.OVERWRITE);
        ops.products().linearBackwardWeight(arena.f32(7, 5), y, x);
        assertEquals(3 * 2 * 6 * 7 * 5, device.flops());
    }

    /** What is added to is read, too. */
    @Test
    void countsBytesOfWhatIsReadAndWritten() {
        Tensor x = arena.f32(6, 5);
        Tensor y = arena.allocate(DType.BF16, 6, 5);
        ops.memory().cast(y, x);
        assertEquals(30 * 4 + 30 * 2, device.bytes());
        ops.products().biasBackward(arena.f32(5), y);
        assertEquals(180 + 2 * 5 * 4 + 30 * 2, device.bytes());
        ops.products().linearBackwardInput(arena.f32(6, 5), arena.f32(6, 7), arena.f32(7, 5), WriteMode.ADD);
        assertEquals(280 + 4 * (2 * 30 + 42 + 35), device.bytes());
    }

    /** The gradient of the bias is that of the weight's product, which has read dy already. */
    @Test
    void gradientsOfBothParametersReadTheirOperandOnce() {
        Tensor dy = arena.allocate(DType.BF16, 6, 5);
        Tensor x = arena.allocate(DType.BF16, 6, 7);
        ops.products().linearBackwardParameters(arena.f32(5, 7), arena.f32(5), dy, x);
        assertEquals(2 * 6 * 5 * 7, device.flops());
        assertEquals(2 * 4 * (35 + 5) + 2 * (30 + 42), device.bytes());
        ProductShape product = device.footprint().products().iterator().next();
        assertEquals(ProductShape.Ending.BIAS_GRADIENT, product.ending());
        assertEquals(List.of(7L, 5L, 6L), List.of(product.m(), product.n(), product.k()));
    }

    /** The recorded base shape: 12 layers of attention take 63 % of 1.447e12 floating-point operations a sample. */
    @Test
    void countsAttentionWithoutRecomputation() {
        AttentionShape shape = new AttentionShape(1, 4050, 4050, 8, 48);
        Tensor q = arena.f32(1, 4050, 8, 48);
        Tensor kv = arena.f32(1, 4050, 2, 8, 48);
        Tensor out = arena.f32(1, 4050, 8, 48);
        Tensor lse = arena.f32(1, 8, 4050);
        ops.attention().attention(out, lse, q, kv, shape, Dropout.NONE);
        double forward = 4.0 * 8 * 4050 * 4050 * 48;
        assertEquals(forward, device.flops());
        ops.attention().attentionBackward(arena.f32(1, 4050, 8, 48), arena.f32(1, 4050, 2, 8, 48),
            arena.f32(1, 4050, 8, 48), q, kv, out, lse, shape, Dropout.NONE);
        assertEquals(3 * forward, device.flops());
        assertEquals(0.63, 12 * device.flops() / 1.447e12, 0.005);
    }

    @Test
    void widestRowCountsAllHeadsButNoFlatRange() {
        ops.memory().fill(arena.f32(1_000_000), 0);
        assertEquals(0, device.footprint().widestRow());
        ops.attention().attention(arena.f32(1, 2, 8, 48), arena.f32(1, 8, 2), arena.f32(1, 2, 8, 48),
            arena.f32(1, 2, 2, 8, 48), new AttentionShape(1, 2, 2, 8, 48), Dropout.NONE);
        assertEquals(384, device.footprint().widestRow());
        ops.products().linear(arena.f32(2, 1536), arena.f32(2, 384), arena.f32(1536, 384), Epilogue.NONE);
        assertEquals(1536, device.footprint().widestRow());
    }

    @Test
    void checksItsArguments() {
        assertThrows(IllegalArgumentException.class, () -> ops.memory().copy(arena.f32(3), arena.f32(4)));
    }
}
