package org.isobar.device.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.DeviceArena;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Every kind of broken contract is named in full. That legal calls pass is shown by the contract's own test. */
class CheckedTensorOpsTest {
    private final DryRunDevice device = new DryRunDevice();
    private final TensorOps ops = device.ops();
    private final DeviceArena arena = device.arena("test", 0);

    private Tensor f32(long... extents) {
        return arena.f32(extents);
    }

    private Tensor f64(long... extents) {
        return arena.allocate(DType.F64, extents);
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    @Test
    void shapes() {
        assertRefused("linear: argument 'weight': expected F32 6 rows of 4, found F32 [6, 5]",
            () -> ops.linear(f32(2, 3, 6), f32(2, 3, 4), f32(6, 5), Epilogue.NONE));
        assertRefused("linear: argument 'y': expected F32 6 rows of 5, found F32 [2, 3, 4]",
            () -> ops.linear(f32(2, 3, 4), f32(2, 3, 4), f32(5, 4), Epilogue.NONE));
        assertRefused("linear: argument 'bias': expected F32 5 elements, found F32 [4]",
            () -> ops.linear(f32(6, 5), f32(6, 4), f32(5, 4), new Epilogue.Bias(f32(4))));
        assertRefused("linear: argument 'preActivation': expected F32 6 rows of 5, found F32 [5, 6]",
            () -> ops.linear(f32(6, 5), f32(6, 4), f32(5, 4), new Epilogue.BiasGelu(f32(5), f32(5, 6))));
        assertRefused("linearBackwardInput: argument 'dx': expected F32 6 rows of 4, found F32 [5, 4]",
            () -> ops.linearBackwardInput(f32(5, 4), f32(6, 5), f32(5, 4), WriteMode.ADD));
        assertRefused("linearBackwardWeight: argument 'x': expected F32 6 rows of 4, found F32 [7, 4]",
            () -> ops.linearBackwardWeight(f32(5, 4), f32(6, 5), f32(7, 4)));
        assertRefused("biasBackward: argument 'dBias': expected F32 5 elements, found F32 [6]",
            () -> ops.biasBackward(f32(6), f32(6, 5)));
        assertRefused("layerNorm: argument 'mean': expected F32 6 elements, found F32 [2]",
            () -> ops.layerNorm(f32(2, 3, 4), f32(2), f32(6), f32(2, 3, 4), f32(4), f32(4), 1e-6));
        assertRefused("layerNormBackward: argument 'gamma': expected F32 4 elements, found F32 [3]",
            () -> ops.layerNormBackward(f32(6, 4), f32(4), f32(4), f32(6, 4), f32(6, 4), f32(6), f32(6), f32(3),
                WriteMode.ADD));
        assertRefused("addPositions: argument 'positions': expected F32 [3, 4], found F32 [2, 4]",
            () -> ops.addPositions(f32(2, 3, 4), f32(2, 3, 4), f32(2, 4)));
        assertRefused("addPositionsBackward: argument 'dy': expected three dimensions, found [6, 4]",
            () -> ops.addPositionsBackward(f32(6, 4), f32(6, 4)));
        assertRefused("copy: argument 'y': expected F32 12 elements, found F32 [13]",
            () -> ops.copy(f32(13), f32(12)));
        assertRefused("adam: argument 'moment2': expected F32 9 elements, found F32 [8]",
            () -> ops.adam(f32(9), f32(9), f32(9), f32(9), f32(8), f64(6), new AdamConstants(0.9, 0.95, 1e-8)));
    }

    @Test
    void shapesOfAttentionAndImages() {
        AttentionShape attention = new AttentionShape(2, 5, 7, 3, 4);
        assertRefused("attention: argument 'q': expected F32 [2, 5, 3, 4], found F32 [2, 5, 12]",
            () -> ops.attention(f32(2, 5, 3, 4), f32(2, 3, 5), f32(2, 5, 12), f32(2, 7, 2, 3, 4), attention,
                Dropout.NONE));
        assertRefused("attentionBackward: argument 'dkv': expected F32 [2, 7, 2, 3, 4], found F32 [2, 5, 3, 4]",
            () -> ops.attentionBackward(f32(2, 5, 3, 4), f32(2, 5, 3, 4), f32(2, 5, 3, 4), f32(2, 5, 3, 4),
                f32(2, 7, 2, 3, 4), f32(2, 5, 3, 4), f32(2, 3, 5), attention, Dropout.NONE));
        PatchShape patches = new PatchShape(2, 3, 8, 16, 4, PatchShape.Order.CHANNEL_LAST);
        assertRefused("patchify: argument 'tokens': expected F32 [2, 8, 48], found F32 [2, 48, 8]",
            () -> ops.patchify(f32(2, 48, 8), f32(2, 3, 8, 16), patches));
        PatchShape broken = new PatchShape(1, 1, 8, 9, 4, PatchShape.Order.CHANNEL_LAST);
        assertRefused("unpatchify: argument 'shape': expected an image of whole patches, found " + broken,
            () -> ops.unpatchify(f32(1, 1, 8, 9), f32(1, 4, 16), broken));
        assertRefused("weightedRmse: argument 'prediction': expected two latitudes or more, found [2, 3, 1, 9]",
            () -> ops.weightedRmse(f64(3), f32(2, 3, 1, 9), f32(2, 3, 1, 9)));
        assertRefused("relativeL2Loss: argument 'target': expected F32 [2, 3, 4, 5], found F32 [2, 3, 5, 4]",
            () -> ops.relativeL2Loss(f64(1), f64(2, 2), f32(2, 3, 4, 5), f32(2, 3, 5, 4)));
    }

    @Test
    void types() {
        assertRefused("gelu: argument 'x': expected F32 [6], found F64 [6]", () -> ops.gelu(f32(6), f64(6)));
        assertRefused("relativeL2Loss: argument 'loss': expected F64 [1], found F32 [1]",
            () -> ops.relativeL2Loss(f32(1), f64(2, 2), f32(2, 3, 4, 5), f32(2, 3, 4, 5)));
        assertRefused("copy: argument 'y': expected F64 6 elements, found F32 [6]", () -> ops.copy(f32(6), f64(6)));
    }

    @Test
    void masks() {
        Philox.Key key = new Philox.Key(1, 1);
        Tensor x = f32(2, 3, 4);
        assertRefused("dropout: argument 'dropout': expected spans that hold [2, 3, 4], found []",
            () -> ops.dropout(x, x, new Dropout(0.5, key, List.of())));
        IndexSpan beyond = new IndexSpan(2, 3, 11);
        assertRefused("dropout: argument 'dropout': expected spans that hold [2, 3, 4], found "
                + List.of(IndexSpan.whole(2), IndexSpan.whole(3), beyond),
            () -> ops.dropout(x, x, new Dropout(0.5, key, List.of(IndexSpan.whole(2), IndexSpan.whole(3), beyond))));
        ops.dropout(x, x,
            new Dropout(0.5, key, List.of(IndexSpan.whole(2), IndexSpan.whole(3), new IndexSpan(2, 3, 12))));
        assertRefused("residual: argument 'dropPath': expected spans that hold [2], found "
            + List.of(IndexSpan.whole(1)),
            () -> ops.residual(x, x, f32(2, 3, 4), new Dropout(0.5, key, List.of(IndexSpan.whole(1)))));
    }

    @Test
    void overlap() {
        Tensor memory = f32(64);
        String place = "bytes [0, 128) and [64, 192) of one storage";
        assertRefused("gelu: argument 'y': expected memory apart from 'x', found " + place,
            () -> ops.gelu(memory.slice(0, 32), memory.slice(16, 32)));
        Tensor x = memory.slice(0, 32);
        assertRefused("copy: argument 'y': expected memory apart from 'x', found bytes [0, 128) and [0, 128) of one "
            + "storage", () -> ops.copy(x, x));
        assertRefused("biasGeluBackward: argument 'dx': expected memory apart from 'y', found bytes [0, 128) and "
            + "[0, 128) of one storage", () -> ops.biasGeluBackward(x, x, f32(32), f32(32), f32(32)));
        assertRefused("biasGeluBackward: argument 'dx': expected memory apart from 'x', found bytes [0, 128) and "
            + "[0, 128) of one storage", () -> ops.biasGeluBackward(x, f32(32), f32(32), f32(32), x));
        assertRefused("biasGeluBackward: argument 'dx': expected memory apart from 'dBias', found bytes [0, 128) and "
            + "[0, 128) of one storage", () -> ops.biasGeluBackward(x, f32(32), x, f32(32), f32(32)));
    }

    @Test
    void inPlaceWhereItIsAllowed() {
        Tensor x = f32(2, 3, 4);
        Tensor other = f32(2, 3, 4);
        ops.gelu(x, x);
        ops.biasGeluBackward(x, f32(2, 3, 4), f32(4), x, other);
        ops.addPositions(x, x, f32(3, 4));
        ops.residual(x, x, other, Dropout.NONE);
        ops.residual(x, other, x, Dropout.NONE);
        ops.residualBackward(x, x, Dropout.NONE);
        Tensor image = f32(2, 3, 4, 5);
        ops.relativeL2LossBackward(image, image, f32(2, 3, 4, 5), f64(2, 2), f64(1));
        assertEquals(4, device.footprint().widestRow() - 1);
    }
}
