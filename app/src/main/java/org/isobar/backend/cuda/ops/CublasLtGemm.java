package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.cublasLtCreate;
import static org.bytedeco.cuda.global.cublas.cublasLtDestroy;
import static org.bytedeco.cuda.global.cublas.cublasLtGetVersion;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmul;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

import org.bytedeco.cuda.cublas.cublasLtContext;
import org.bytedeco.javacpp.FloatPointer;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.DevicePointer;
import org.isobar.device.DeviceArena;
import org.isobar.device.Footprint;
import org.isobar.device.ProductAlgorithms;
import org.isobar.device.ops.ProductShape;
import org.isobar.device.ops.ProductShape.Ending;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * The three matrix products of a linear layer, by cuBLASLt. Sums are accumulated in single precision. The first call of
 * a product selects its algorithm; later calls with equal shape, types and alignment allocate nothing. cuBLASLt adds
 * biases. With the gradient of a weight it also sums the gradient of the bias, if it has an algorithm that does.
 */
final class CublasLtGemm implements ProductAlgorithms, AutoCloseable {
    /** cuBLASLt's heuristic takes the alignment of every operand except the bias, which it assumes to be aligned. */
    private static final int BIAS_ALIGNMENT = 16;

    /** How a product is computed. */
    private record Plan(MatmulDescription product, MatmulAlgorithm algorithm) implements AutoCloseable {
        @Override
        public void close() {
            algorithm.close();
            product.close();
        }
    }

    private final OpResources context;
    private final cublasLtContext handle = new cublasLtContext();
    private final Map<ProductShape, Plan> plans = new HashMap<>();
    private final Map<ProductShape, String> used = new HashMap<>();
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

    /** Bytes of workspace that a product may need: one size for cuBLASLt, after the gradient of a bias. */
    static long workspaceBytes(Footprint footprint) {
        return sumBytes(footprint.widestRow()) + MatmulAlgorithm.MOST_WORKSPACE;
    }

    private static long sumBytes(long width) {
        return DeviceArena.align(width * Float.BYTES);
    }

    /** Describes in words what computes products of tensors of the given type. */
    String description(DType compute) {
        return "products: " + library() + " in " + context.options().operands(compute) + ", which adds biases";
    }

    /** Computes {@code dx = dy W}, overwriting dx or adding to it. */
    void backwardInput(Tensor dx, Tensor dy, Tensor weight, WriteMode write) {
        multiply(ProductShape.inputGradient(dx, dy, weight, write), weight, dy, dx, 0);
    }

    /** Computes {@code dW += dy^T x}. */
    void backwardWeight(Tensor dWeight, Tensor dy, Tensor x) {
        multiply(ProductShape.weightGradient(dWeight, dy, x, Ending.PLAIN), x, dy, dWeight, 0);
    }

    /**
     * Computes {@code dW += dy^T x}, and in the same product the sum over rows of dy if cuBLASLt can.
     *
     * @return address of the sums (N), F32, at the start of the workspace; empty if they are not computed
     */
    OptionalLong backwardParameters(Tensor dWeight, Tensor dy, Tensor x) {
        ProductShape shape = ProductShape.weightGradient(dWeight, dy, x, Ending.BIAS_GRADIENT);
        long sums = context.workspace().address(sumBytes(shape.n()));
        Plan plan = multiply(shape, x, dy, dWeight, sums);
        return plan.product.shape().ending() == Ending.BIAS_GRADIENT ? OptionalLong.of(sums) : OptionalLong.empty();
    }

    /** Computes {@code y = x W^T}. */
    void forward(Tensor y, Tensor x, Tensor weight) {
        multiply(ProductShape.forward(y, x, weight, Ending.PLAIN), weight, x, y, 0);
    }

    /** Computes {@code y = x W^T + b}. */
    void forward(Tensor y, Tensor x, Tensor weight, Tensor bias) {
        if (ProductShape.alignment(bias) < BIAS_ALIGNMENT) {
            throw new IllegalArgumentException("a bias begins at a multiple of " + BIAS_ALIGNMENT + " bytes, not at "
                + bias.address());
        }
        multiply(ProductShape.forward(y, x, weight, Ending.BIAS), weight, x, y, bias.address());
    }

    /** @param bias address of the bias or of its gradient, 0 without an epilogue */
    private Plan multiply(ProductShape shape, Tensor a, Tensor b, Tensor c, long bias) {
        Plan plan = plan(shape, bias);
        MatmulDescription product = plan.product;
        MatmulAlgorithm algorithm = plan.algorithm;
        long bytes = algorithm.workspaceBytes();
        long before = shape.ending() == Ending.BIAS_GRADIENT ? sumBytes(shape.n()) : 0;
        pointerC.at(c.address());
        CublasLt.check(cublasLtMatmul(handle, product.descriptor(), one, pointerA.at(a.address()), product.layoutA(),
            pointerB.at(b.address()), product.layoutB(), shape.write() == WriteMode.ADD ? one : zero, pointerC,
            product.layoutC(), pointerC, product.layoutC(), algorithm.handle(),
            workspace.at(bytes == 0 ? 0 : context.workspace().address(before + bytes) + before), bytes,
            context.launcher().stream()), shape);
        return plan;
    }

    private Plan plan(ProductShape shape, long bias) {
        Plan plan = plans.get(shape);
        if (plan == null) {
            plan = planned(shape, bias, MatmulAlgorithm::preferred);
            plans.put(shape, plan);
        } else if (plan.product.shape().ending() != Ending.PLAIN) { // else cuBLASLt refuses an address
            plan.product.bias(bias);
        }
        return plan;
    }

    private Plan planned(ProductShape shape, long bias, Function<MatmulDescription, MatmulAlgorithm> selection) {
        MatmulDescription product = describe(shape, bias);
        try {
            return new Plan(product, selection.apply(product));
        } catch (CudaException none) {
            product.close();
            throw none;
        }
    }

    /** The product as it is computed: without the gradient of a bias where cuBLASLt has no algorithm for both. */
    private MatmulDescription describe(ProductShape shape, long bias) {
        MatmulDescription product = new MatmulDescription(handle, shape, context.options().single(), bias);
        if (shape.ending() == Ending.BIAS_GRADIENT && !sumsBiasGradient(product)) {
            product.close();
            return new MatmulDescription(handle, shape.plain(), context.options().single(), 0);
        }
        return product;
    }

    /** A product of F32 operands may round what it sums to TF32. */
    private static boolean sumsBiasGradient(MatmulDescription product) {
        return product.shape().operands() != DType.F32 && MatmulAlgorithm.exists(product);
    }

    @Override
    public String library() {
        return "cuBLASLt " + CudaComponent.dotted(cublasLtGetVersion());
    }

    @Override
    public List<String> candidates(ProductShape shape) {
        try (MatmulDescription product = describe(shape, someBias(shape))) {
            return MatmulAlgorithm.proposals(product);
        }
    }

    @Override
    public Optional<String> use(ProductShape shape, String algorithm) {
        try {
            Plan former = plans.put(shape,
                planned(shape, someBias(shape), product -> MatmulAlgorithm.restored(product, algorithm)));
            used.put(shape, algorithm);
            if (former != null) {
                former.close();
            }
            return Optional.empty();
        } catch (CudaException refused) {
            return Optional.of(refused.getMessage());
        }
    }

    @Override
    public Map<ProductShape, String> used() {
        return Collections.unmodifiableMap(used);
    }

    @Override
    public void useHeuristic() {
        used.clear();
        plans.values().forEach(Plan::close);
        plans.clear();
    }

    /** An aligned address for a bias, or its gradient, that is not known yet; each call sets its own. */
    private static long someBias(ProductShape shape) {
        return shape.ending() == Ending.PLAIN ? 0 : BIAS_ALIGNMENT;
    }

    /** Number of distinct products (matmul plans) computed so far. */
    int plans() {
        return plans.size();
    }

    @Override
    public void close() {
        useHeuristic();
        cublasLtDestroy(handle);
        one.close();
        zero.close();
    }
}
