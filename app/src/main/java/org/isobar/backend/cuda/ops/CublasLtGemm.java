package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.cublasLtCreate;
import static org.bytedeco.cuda.global.cublas.cublasLtDestroy;
import static org.bytedeco.cuda.global.cublas.cublasLtGetVersion;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmul;

import java.util.HashMap;
import java.util.Map;

import org.bytedeco.cuda.cublas.cublasLtContext;
import org.bytedeco.javacpp.FloatPointer;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.DevicePointer;
import org.isobar.device.Footprint;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * The three matrix products of a linear layer, by cuBLASLt. Sums are accumulated in single precision. The first call of
 * a product selects its algorithm; later calls with equal shape, types and alignment allocate nothing. cuBLASLt adds a
 * bias before it rounds the sum.
 */
final class CublasLtGemm implements AutoCloseable {
    /** cuBLASLt's heuristic takes the alignment of every operand except the bias, which it assumes to be aligned. */
    private static final int BIAS_ALIGNMENT = 16;

    private final OpResources context;
    private final cublasLtContext handle = new cublasLtContext();
    private final Map<MatmulKey, MatmulPlan> plans = new HashMap<>();
    private final FloatPointer zero = new FloatPointer(new float[] {0});
    private final FloatPointer one = new FloatPointer(new float[] {1});
    private final DevicePointer pointerA = new DevicePointer();
    private final DevicePointer pointerB = new DevicePointer();
    private final DevicePointer pointerC = new DevicePointer();
    private final DevicePointer workspace = new DevicePointer();

    /** Creates products that run on the stream of the context's launcher. */
    CublasLtGemm(OpResources context) {
        this.context = context;
        CublasLt.check(cublasLtCreate(handle), "cublasLtCreate");
    }

    /** Bytes of workspace that a product may need; one size for all products. */
    static long workspaceBytes(Footprint footprint) {
        return MatmulAlgorithm.MOST_WORKSPACE;
    }

    /** Describes in words what computes products of tensors of the given type. */
    String description(DType compute) {
        return "products: cuBLASLt " + CudaComponent.dotted(cublasLtGetVersion()) + " in "
            + context.options().operands(compute) + ", which adds biases";
    }

    /** Computes {@code dx = dy W}, overwriting dx or adding to it. */
    void backwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        multiply(key(MatmulKey.Kind.INPUT_GRADIENT, weight, dy, dx, dy.shape().extent(-1), write), weight, dy, dx, 0);
    }

    /** Computes {@code dW += dy^T x}. */
    void backwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        multiply(key(MatmulKey.Kind.WEIGHT_GRADIENT, x, dy, dWeight, x.shape().rows(), WriteMode.ADD), x, dy, dWeight,
            0);
    }

    /** Computes {@code y = x W^T}. */
    void forward(Tensor y, Tensor x, Tensor weight) {
        multiply(forwardKey(y, x, weight), weight, x, y, 0);
    }

    /** Computes {@code y = x W^T + b}. */
    void forward(Tensor y, Tensor x, Tensor weight, Tensor bias) {
        if (MatmulKey.alignment(bias) < BIAS_ALIGNMENT) {
            throw new IllegalArgumentException("a bias begins at a multiple of " + BIAS_ALIGNMENT + " bytes, not at "
                + bias.address());
        }
        multiply(forwardKey(y, x, weight).withBias(), weight, x, y, bias.address());
    }

    private static MatmulKey forwardKey(Tensor y, Tensor x, Tensor weight) {
        return key(MatmulKey.Kind.FORWARD, weight, x, y, x.shape().extent(-1), WriteMode.OVERWRITE);
    }

    private static MatmulKey key(MatmulKey.Kind kind, Tensor a, Tensor b, Tensor c, long k, WriteMode write) {
        return new MatmulKey(kind, c.shape().extent(-1), c.shape().rows(), k, a.dtype(), c.dtype(),
            MatmulKey.Ending.PLAIN, write, MatmulKey.alignment(a), MatmulKey.alignment(b), MatmulKey.alignment(c));
    }

    /** @param bias address of the bias, 0 if no bias is added */
    private void multiply(MatmulKey key, Tensor a, Tensor b, Tensor c, long bias) {
        MatmulPlan plan = plan(key, bias);
        MatmulAlgorithm algorithm = plan.algorithm();
        long bytes = algorithm.workspaceBytes();
        pointerC.at(c.address());
        CublasLt.check(cublasLtMatmul(handle, plan.descriptor(), one, pointerA.at(a.address()), plan.layoutA(),
            pointerB.at(b.address()), plan.layoutB(), key.write() == WriteMode.ADD ? one : zero, pointerC,
            plan.layoutC(),
            pointerC, plan.layoutC(), algorithm.handle(),
            workspace.at(bytes == 0 ? 0 : context.workspace().address(bytes)), bytes, context.launcher().stream()),
            key);
    }

    private MatmulPlan plan(MatmulKey key, long bias) {
        MatmulPlan plan = plans.get(key);
        if (plan == null) {
            plan = new MatmulPlan(handle, key, context.options().single(), bias);
            plans.put(key, plan);
        } else if (bias != 0) {
            plan.bias(bias);
        }
        return plan;
    }

    /** Number of distinct products (matmul plans) computed so far. */
    int plans() {
        return plans.size();
    }

    @Override
    public void close() {
        plans.values().forEach(MatmulPlan::close);
        cublasLtDestroy(handle);
        one.close();
        zero.close();
    }
}
