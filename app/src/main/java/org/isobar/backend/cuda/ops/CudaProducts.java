package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.OptionalLong;

import org.isobar.device.ProductAlgorithms;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.ProductOps;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Linear layers: products and biases by cuBLASLt, also the gradients of biases where it can; other sums by kernels, and
 * GELU, as cuBLASLt has only the tanh form.
 */
final class CudaProducts implements ProductOps, AutoCloseable {
    private final CublasLtGemm gemm;
    private final CudaGelu gelu;
    private final CudaColumnSums columnSums;

    CudaProducts(OpResources context, CudaColumnSums columnSums) {
        this.columnSums = columnSums;
        gelu = new CudaGelu(context, columnSums);
        gemm = new CublasLtGemm(context);
    }

    /** Describes for the log which libraries and kernels compute products of tensors of the given type. */
    List<String> description(DType compute) {
        return List.of(gemm.description(compute), gelu.description());
    }

    /** The algorithms of cuBLASLt. */
    ProductAlgorithms algorithms() {
        return gemm;
    }

    @Override
    public void linear(Tensor y, Tensor x, Tensor weight, Epilogue epilogue) {
        switch (epilogue) {
            case Epilogue.None none -> gemm.forward(y, x, weight);
            case Epilogue.Bias(Tensor bias) -> gemm.forward(y, x, weight, bias);
            case Epilogue.BiasGelu(Tensor bias, Tensor preActivation) -> {
                gemm.forward(preActivation, x, weight, bias);
                gelu.forward(y, preActivation);
            }
        }
    }

    @Override
    public void linearBackwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        gemm.backwardInput(dx, dy, weight, write);
    }

    @Override
    public void linearBackwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        gemm.backwardWeight(dWeight, dy, x);
    }

    @Override
    public void biasBackward(Tensor dBias, Tensor dy) {
        columnSums.biasBackward(dBias, dy);
    }

    @Override
    public void linearBackwardParameters(Tensor dWeight, Tensor dBias, Tensor dy, Tensor x) {
        OptionalLong sums = gemm.backwardParameters(dWeight, dy, x);
        if (sums.isPresent()) {
            columnSums.add(sums.getAsLong(), 1, dBias);
        } else {
            biasBackward(dBias, dy);
        }
    }

    @Override
    public void biasGeluBackward(Tensor dx, Tensor y, Tensor dBias, Tensor dy, Tensor x) {
        gelu.backward(dx, y, dBias, dy, x);
    }

    /** Number of distinct products (matmul plans) computed so far. */
    int plans() {
        return gemm.plans();
    }

    @Override
    public void close() {
        gemm.close();
    }
}
