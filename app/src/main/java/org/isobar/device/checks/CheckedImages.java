package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.COMPUTE;
import static org.isobar.device.checks.OperandChecks.Extents.exactly;
import static org.isobar.device.checks.OperandChecks.Extents.flat;
import static org.isobar.device.checks.OperandChecks.Extents.like;
import static org.isobar.tensor.DType.F32;

import org.isobar.device.checks.OperandChecks.Extents;
import org.isobar.device.ops.ImageOps;
import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link ImageOps}. */
record CheckedImages(ImageOps ops) implements ImageOps {
    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        patches("patchify", shape)
            .output("tokens", tokens, COMPUTE, tokens(shape))
            .input("image", image, F32, image(shape))
            .check();
        ops.patchify(tokens, image, shape);
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        patches("unpatchify", shape)
            .output("image", image, F32, image(shape))
            .input("tokens", tokens, COMPUTE, tokens(shape))
            .check();
        ops.unpatchify(image, tokens, shape);
    }

    private static OperandChecks patches(String operation, PatchShape shape) {
        boolean whole = shape.patch() > 0 && shape.height() % shape.patch() == 0 && shape.width() % shape.patch() == 0;
        return new OperandChecks(operation).require(whole, "shape", "an image of whole patches", shape);
    }

    private static Extents tokens(PatchShape shape) {
        return exactly(shape.batch(), shape.tokens(), shape.tokenSize());
    }

    private static Extents image(PatchShape shape) {
        return exactly(shape.batch(), shape.channels(), shape.height(), shape.width());
    }

    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        new OperandChecks("addPositions")
            .require(x.shape().rank() == 3, "x", "three dimensions", x.shape())
            .outputInPlace("y", y, F32, like(x), "x")
            .input("x", x, F32, like(x))
            .input("positions", positions, F32, exactly(x.shape().extent(1), x.shape().extent(2)))
            .check();
        ops.addPositions(y, x, positions);
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        new OperandChecks("addPositionsBackward")
            .require(dy.shape().rank() == 3, "dy", "three dimensions", dy.shape())
            .output("dPositions", dPositions, F32, exactly(dy.shape().extent(1), dy.shape().extent(2)))
            .input("dy", dy, F32, like(dy))
            .check();
        ops.addPositionsBackward(dPositions, dy);
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        OperandChecks.ofImages("normalize", "x", x)
            .outputInPlace("y", y, F32, like(x), "x")
            .input("x", x, F32, like(x))
            .input("mean", mean, F32, flat(x.shape().extent(1)))
            .input("std", std, F32, flat(x.shape().extent(1)))
            .check();
        ops.normalize(y, x, mean, std);
    }
}
