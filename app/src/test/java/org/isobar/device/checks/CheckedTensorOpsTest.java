package org.isobar.device.checks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Optional;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.PatchShape;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.TensorOps;
import org.isobar.device.ops.WriteMode;
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

    private Tensor bf16(long... extents) {
        return arena.allocate(DType.BF16, extents);
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    @Test
    void shapes() {
        assertRefused("linear: argument 'weight': expected F32 6 rows of 4, found F32 [6, 5]",
            () -> ops.products().linear(f32(2, 3, 6), f32(2, 3, 4), f32(6, 5), Epilogue.NONE));
        assertRefused("linear: argument 'y': expected F32 6 rows of 5, found F32 [2, 3, 4]",
            () -> ops.products().linear(f32(2, 3, 4), f32(2, 3, 4), f32(5, 4), Epilogue.NONE));
        assertRefused("linear: argument 'bias': expected F32 5 elements, found F32 [4]",
            () -> ops.products().linear(f32(6, 5), f32(6, 4), f32(5, 4), new Epilogue.Bias(f32(4))));
        assertRefused("linear: argument 'preActivation': expected F32 6 rows of 5, found F32 [5, 6]",
            () -> ops.products().linear(f32(6, 5), f32(6, 4), f32(5, 4), new Epilogue.BiasGelu(f32(5), f32(5, 6))));
        assertRefused("linearBackwardInput: argument 'dx': expected F32 6 rows of 4, found F32 [5, 4]",
            () -> ops.products().linearBackwardInput(f32(5, 4), f32(6, 5), f32(5, 4), WriteMode.ADD));
        assertRefused("linearBackwardWeight: argument 'x': expected F32 6 rows of 4, found F32 [7, 4]",
            () -> ops.products().linearBackwardWeight(f32(5, 4), f32(6, 5), f32(7, 4)));
        assertRefused("biasBackward: argument 'dBias': expected F32 5 elements, found F32 [6]",
            () -> ops.products().biasBackward(f32(6), f32(6, 5)));
        assertRefused("linearBackwardParameters: argument 'dBias': expected F32 5 elements, found F32 [4]",
            () -> ops.products().linearBackwardParameters(f32(5, 4), f32(4), f32(6, 5), f32(6, 4)));
        assertRefused("layerNorm: argument 'mean': expected F32 6 elements, found F32 [2]",
            () -> ops.norms().layerNorm(f32(2, 3, 4), f32(2), f32(6), f32(2, 3, 4), f32(4), f32(4), 1e-6));
        assertRefused("layerNormBackward: argument 'gamma': expected F32 4 elements, found F32 [3]",
            () -> ops.norms().layerNormBackward(f32(6, 4), f32(4), f32(4), f32(6, 4), f32(6, 4), f32(6), f32(6), f32(3),
                WriteMode.ADD, Optional.empty()));
        assertRefused("layerNormBackward: argument 'beta': expected F32 4 elements, found F32 [3]",
            () -> ops.norms().layerNormBackward(f32(6, 4), f32(4), f32(4), f32(6, 4), f32(6, 4), f32(6), f32(6), f32(4),
                WriteMode.ADD, Optional.of(new RecomputedNorm(f32(6, 4), f32(3)))));
        assertRefused("residualLayerNormBackward: argument 'dBranch': expected F32 [2, 3, 4], found F32 [4, 6]",
            () -> ops.norms().residualLayerNormBackward(f32(2, 3, 4), new BiasedGradient(f32(4, 6), Dropout.NONE,
                f32(4)), f32(4), f32(4), f32(2, 3, 4), f32(2, 3, 4), f32(6), f32(6), f32(4), Optional.empty()));
        assertRefused("addPositions: argument 'positions': expected F32 [3, 4], found F32 [2, 4]",
            () -> ops.images().addPositions(f32(2, 3, 4), f32(2, 3, 4), f32(2, 4)));
        assertRefused("addPositionsBackward: argument 'dy': expected three dimensions, found [6, 4]",
            () -> ops.images().addPositionsBackward(f32(6, 4), f32(6, 4)));
        assertRefused("copy: argument 'y': expected F32 12 elements, found F32 [13]",
            () -> ops.memory().copy(f32(13), f32(12)));
        assertRefused("adam: argument 'moment2': expected F32 9 elements, found F32 [8]",
            () -> ops.updates()
            .adam(f32(9), f32(9), f32(9), f32(9), f32(8), f64(6), new AdamConstants(0.9, 0.95, 1e-8)));
    }

    /** In F32, the parameters are the copy. */
    @Test
    void aCopyOfTheParametersHasAnotherType() {
        assertRefused("adam: argument 'copy': expected F16 or BF16 9 elements, found F32 [9]",
            () -> ops.updates()
            .adam(f32(9), f32(9), f32(9), f32(9), f32(9), f64(7), new AdamConstants(0.9, 0.95, 1e-8)));
    }

    @Test
    void shapesOfAttentionAndImages() {
        AttentionShape attention = new AttentionShape(2, 5, 7, 3, 4);
        assertRefused("attention: argument 'q': expected F32 [2, 5, 3, 4], found F32 [2, 5, 12]",
            () -> ops.attention().attention(f32(2, 5, 3, 4), f32(2, 3, 5), f32(2, 5, 12), f32(2, 7, 2, 3, 4), attention,
                Dropout.NONE));
        assertRefused("attentionBackward: argument 'dkv': expected F32 [2, 7, 2, 3, 4], found F32 [2, 5, 3, 4]",
            () -> ops.attention().attentionBackward(f32(2, 5, 3, 4), f32(2, 5, 3, 4), f32(2, 5, 3, 4), f32(2, 5, 3, 4),
                f32(2, 7, 2, 3, 4), f32(2, 5, 3, 4), f32(2, 3, 5), attention, Dropout.NONE));
        PatchShape patches = new PatchShape(2, 3, 8, 16, 4, PatchShape.Order.CHANNEL_LAST);
        assertRefused("patchify: argument 'tokens': expected F32 [2, 8, 48], found F32 [2, 48, 8]",
            () -> ops.images().patchify(f32(2, 48, 8), f32(2, 3, 8, 16), patches));
        PatchShape broken = new PatchShape(1, 1, 8, 9, 4, PatchShape.Order.CHANNEL_LAST);
        assertRefused("unpatchify: argument 'shape': expected an image of whole patches, found " + broken,
            () -> ops.images().unpatchify(f32(1, 1, 8, 9), f32(1, 4, 16), broken));
        assertRefused("weightedRmse: argument 'prediction': expected two latitudes or more, found [2, 3, 1, 9]",
            () -> ops.losses().weightedRmse(f64(3), f32(2, 3, 1, 9), f32(2, 3, 1, 9)));
        assertRefused("relativeL2Loss: argument 'target': expected F32 [2, 3, 4, 5], found F32 [2, 3, 5, 4]",
            () -> ops.losses().relativeL2Loss(f64(1), f64(2, 2), 0, f32(2, 3, 4, 5), f32(2, 3, 5, 4)));
    }

    @Test
    void samplesOfAStep() {
        Tensor image = f32(2, 3, 4, 5);
        ops.losses().relativeL2Loss(f64(1), f64(6, 2), 4, image, f32(2, 3, 4, 5));
        assertRefused("relativeL2Loss: argument 'norms': expected a row for each sample from the first on, "
            + "found [6, 2]",
            () -> ops.losses().relativeL2Loss(f64(1), f64(6, 2), 5, image, f32(2, 3, 4, 5)));
        assertRefused("relativeL2LossBackward: argument 'norms': expected a row for each sample from the first on, "
            + "found [6, 2]",
            () -> ops.losses().relativeL2LossBackward(image, image, f32(2, 3, 4, 5), f64(6, 2), -1, f64(1)));
    }

    @Test
    void types() {
        assertRefused("cast: argument 'x': expected F16 or BF16 or F32 [6], found F64 [6]",
            () -> ops.memory().cast(f32(6), f64(6)));
        assertRefused("biasGeluBackward: argument 'dy': expected F32 [6, 5], found BF16 [6, 5]",
            () -> ops.products().biasGeluBackward(f32(6, 5), f32(6, 5), f32(5), bf16(6, 5), f32(6, 5)));
        assertRefused("linear: argument 'y': expected BF16 6 rows of 5, found F32 [6, 5]",
            () -> ops.products().linear(f32(6, 5), bf16(6, 4), bf16(5, 4),
                new Epilogue.BiasGelu(bf16(5), bf16(6, 5))));
        assertRefused("relativeL2Loss: argument 'loss': expected F64 [1], found F32 [1]",
            () -> ops.losses().relativeL2Loss(f32(1), f64(2, 2), 0, f32(2, 3, 4, 5), f32(2, 3, 4, 5)));
        assertRefused("copy: argument 'y': expected F64 6 elements, found F32 [6]", () -> ops.memory()
            .copy(f32(6), f64(6)));
    }

    @Test
    void masks() {
        Philox.Key key = new Philox.Key(1, 1);
        Tensor x = f32(2, 3, 4);
        assertRefused("dropout: argument 'dropout': expected spans that hold [2, 3, 4], found []",
            () -> ops.residuals().dropout(x, x, new Dropout(0.5, key, List.of())));
        IndexSpan beyond = new IndexSpan(2, 3, 11);
        assertRefused("dropout: argument 'dropout': expected spans that hold [2, 3, 4], found "
                + List.of(IndexSpan.whole(2), IndexSpan.whole(3), beyond),
            () -> ops.residuals()
            .dropout(x, x, new Dropout(0.5, key, List.of(IndexSpan.whole(2), IndexSpan.whole(3), beyond))));
        ops.residuals().dropout(x, x,
            new Dropout(0.5, key, List.of(IndexSpan.whole(2), IndexSpan.whole(3), new IndexSpan(2, 3, 12))));
        assertRefused("residual: argument 'dropPath': expected spans that hold [2], found "
            + List.of(IndexSpan.whole(1)),
            () -> ops.residuals().residual(x, x, f32(2, 3, 4), new Dropout(0.5, key, List.of(IndexSpan.whole(1)))));
    }

    @Test
    void overlap() {
        Tensor memory = f32(64);
        String place = "bytes [0, 128) and [64, 192) of one storage";
        assertRefused("normalize: argument 'y': expected memory apart from 'x', found " + place,
            () -> ops.images().normalize(image(memory, 0), image(memory, 16), f32(1), f32(1)));
        Tensor x = memory.slice(0, 32);
        assertRefused("copy: argument 'y': expected memory apart from 'x', found bytes [0, 128) and [0, 128) of one "
            + "storage", () -> ops.memory().copy(x, x));
        assertRefused("biasGeluBackward: argument 'dx': expected memory apart from 'y', found bytes [0, 128) and "
            + "[0, 128) of one storage", () -> ops.products().biasGeluBackward(x, x, f32(32), f32(32), f32(32)));
        assertRefused("biasGeluBackward: argument 'dx': expected memory apart from 'x', found bytes [0, 128) and "
            + "[0, 128) of one storage", () -> ops.products().biasGeluBackward(x, f32(32), f32(32), f32(32), x));
        assertRefused("biasGeluBackward: argument 'dx': expected memory apart from 'dBias', found bytes [0, 128) and "
            + "[0, 128) of one storage", () -> ops.products().biasGeluBackward(x, f32(32), x, f32(32), f32(32)));
    }

    private static Tensor image(Tensor memory, long first) {
        return memory.slice(first, 32).reshape(1, 1, 4, 8);
    }

    @Test
    void inPlaceWhereItIsAllowed() {
        Tensor x = f32(2, 3, 4);
        Tensor other = f32(2, 3, 4);
        ops.products().biasGeluBackward(x, f32(2, 3, 4), f32(4), x, other);
        ops.images().addPositions(x, x, f32(3, 4));
        ops.residuals().residual(x, x, other, Dropout.NONE);
        ops.residuals().residual(x, other, x, Dropout.NONE);
        ops.residuals().residualBackward(x, x, Dropout.NONE);
        Tensor image = f32(2, 3, 4, 5);
        ops.losses().relativeL2LossBackward(image, image, f32(2, 3, 4, 5), f64(2, 2), 0, f64(1));
        assertEquals(4, device.footprint().widestRow() - 1);
    }
}
