package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.COMPUTE;
import static org.isobar.device.checks.OperandChecks.Extents.flat;
import static org.isobar.device.checks.OperandChecks.Extents.like;
import static org.isobar.device.checks.OperandChecks.Extents.rows;
import static org.isobar.tensor.DType.F32;

import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.ProductOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link ProductOps}. */
record CheckedProducts(ProductOps ops) implements ProductOps {
    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        long m = x.shape().rows();
        long n = weight.shape().rows();
        DType result = y.dtype() == F32 && !(epilogue instanceof Epilogue.BiasGelu) ? F32 : x.dtype();
        OperandChecks arguments = new OperandChecks("linear")
            .output("y", y, result, rows(m, n))
            .input("x", x, COMPUTE, like(x))
            .input("weight", weight, x.dtype(), rows(n, x.shape().extent(-1)));
        switch (epilogue) {
            case Epilogue.None none -> { }
            case Epilogue.Bias bias -> arguments.input("bias", bias.bias(), y.dtype(), flat(n));
            case Epilogue.BiasGelu gelu -> arguments.input("bias", gelu.bias(), y.dtype(), flat(n))
                .output("preActivation", gelu.preActivation(), y.dtype(), rows(m, n));
        }
        arguments.check();
        ops.linear(y, x, weight, epilogue);
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        long k = weight.shape().extent(-1);
        new OperandChecks("linearBackwardInput")
            .output("dx", dx, dy.dtype(), rows(dy.shape().rows(), k))
            .input("dy", dy, COMPUTE, like(dy))
            .input("weight", weight, dy.dtype(), rows(dy.shape().extent(-1), k))
            .check();
        ops.linearBackwardInput(dx, dy, weight, write);
    }

    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        new OperandChecks("linearBackwardWeight")
            .output("dWeight", dWeight, F32, rows(dy.shape().extent(-1), x.shape().extent(-1)))
            .input("dy", dy, COMPUTE, like(dy))
            .input("x", x, dy.dtype(), rows(dy.shape().rows(), x.shape().extent(-1)))
            .check();
        ops.linearBackwardWeight(dWeight, dy, x);
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        new OperandChecks("biasBackward")
            .output("dBias", dBias, F32, flat(dy.shape().extent(-1)))
            .input("dy", dy, COMPUTE, like(dy))
            .check();
        ops.biasBackward(dBias, dy);
    }

    @Override
    public void linearBackwardParameters(Tensor dWeight, Tensor dBias, Tensor dy, Tensor x) {
        long n = dy.shape().extent(-1);
        new OperandChecks("linearBackwardParameters")
            .output("dWeight", dWeight, F32, rows(n, x.shape().extent(-1)))
            .output("dBias", dBias, F32, flat(n))
            .input("dy", dy, COMPUTE, like(dy))
            .input("x", x, dy.dtype(), rows(dy.shape().rows(), x.shape().extent(-1)))
            .check();
        ops.linearBackwardParameters(dWeight, dBias, dy, x);
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        new OperandChecks("biasGeluBackward")
            .outputInPlace("dx", dx, x.dtype(), like(x), "dy")
            .outputInPlace("y", y, x.dtype(), like(x), "x")
            .output("dBias", dBias, F32, flat(x.shape().extent(-1)))
            .input("dy", dy, x.dtype(), like(x))
            .input("x", x, COMPUTE, like(x))
            .check();
        ops.biasGeluBackward(dx, y, dBias, dy, x);
    }
}
