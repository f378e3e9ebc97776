package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.CUBLASLT_EPILOGUE_BGRADB;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_EPILOGUE_BIAS;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_EPILOGUE_DEFAULT;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_DESC_BIAS_POINTER;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_DESC_EPILOGUE;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_DESC_TRANSA;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_DESC_TRANSB;
import static org.bytedeco.cuda.global.cublas.CUBLAS_COMPUTE_32F;
import static org.bytedeco.cuda.global.cublas.CUBLAS_COMPUTE_32F_FAST_TF32;
import static org.bytedeco.cuda.global.cublas.CUBLAS_OP_N;
import static org.bytedeco.cuda.global.cublas.CUBLAS_OP_T;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulDescCreate;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulDescDestroy;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulDescSetAttribute;
import static org.bytedeco.cuda.global.cublas.cublasLtMatrixLayoutCreate;
import static org.bytedeco.cuda.global.cublas.cublasLtMatrixLayoutDestroy;
import static org.bytedeco.cuda.global.cudart.CUDA_R_16BF;
import static org.bytedeco.cuda.global.cudart.CUDA_R_16F;
import static org.bytedeco.cuda.global.cudart.CUDA_R_32F;

import org.bytedeco.cuda.cublas.cublasLtContext;
import org.bytedeco.cuda.cublas.cublasLtMatmulDescOpaque_t;
import org.bytedeco.cuda.cublas.cublasLtMatrixLayoutOpaque_t;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.device.ops.ProductShape;
import org.isobar.device.ops.ProductShape.Ending;
import org.isobar.device.ops.ProductShape.Kind;
import org.isobar.tensor.DType;

/** One product as cuBLASLt is told of it: descriptor and layouts, created once and used at every call. */
final class MatmulDescription implements AutoCloseable {
    private final cublasLtContext handle;
    private final ProductShape shape;
    private final cublasLtMatmulDescOpaque_t descriptor;
    private final cublasLtMatrixLayoutOpaque_t layoutA;
    private final cublasLtMatrixLayoutOpaque_t layoutB;
    private final cublasLtMatrixLayoutOpaque_t layoutC;
    private final LongPointer biasAddress = new LongPointer(1);

    /**
     * Describes a product.
     *
     * @param single how products read single-precision operands
     * @param bias   address of the bias or of its gradient at the first call, 0 if there is none
     */
    MatmulDescription(cublasLtContext handle, ProductShape shape, SinglePrecision single, long bias) {
        this.handle = handle;
        this.shape = shape;
        descriptor = descriptor(shape, single);
        layoutA = layout(shape.operands(), operationA(shape.kind()), shape.m(), shape.k());
        layoutB = layout(shape.operands(), operationB(shape.kind()), shape.k(), shape.n());
        layoutC = layout(shape.result(), CUBLAS_OP_N, shape.m(), shape.n());
        if (bias != 0) {
            bias(bias);
        }
    }

    private static int operationA(Kind kind) {
        return kind == Kind.FORWARD ? CUBLAS_OP_T : CUBLAS_OP_N;
    }

    private static int operationB(Kind kind) {
        return kind == Kind.WEIGHT_GRADIENT ? CUBLAS_OP_T : CUBLAS_OP_N;
    }

    /** Sets the address of the bias, or where its gradient is written, for the next call. */
    void bias(long address) {
        CublasLt.check(cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
            biasAddress.put(address), Long.BYTES), "cublasLtMatmulDescSetAttribute");
    }

    cublasLtContext handle() {
        return handle;
    }

    ProductShape shape() {
        return shape;
    }

    cublasLtMatmulDescOpaque_t descriptor() {
        return descriptor;
    }

    cublasLtMatrixLayoutOpaque_t layoutA() {
        return layoutA;
    }

    cublasLtMatrixLayoutOpaque_t layoutB() {
        return layoutB;
    }

    /** Layout of the result, both as input and as output. */
    cublasLtMatrixLayoutOpaque_t layoutC() {
        return layoutC;
    }

    private static cublasLtMatmulDescOpaque_t descriptor(ProductShape shape, SinglePrecision single) {
        boolean rounds = shape.operands() == DType.F32 && single == SinglePrecision.TF32;
        int compute = rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
        try (PointerPointer<Pointer> made = new PointerPointer<>(1)) {
            CublasLt.check(cublasLtMatmulDescCreate(made, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
            cublasLtMatmulDescOpaque_t descriptor = new cublasLtMatmulDescOpaque_t(made.get());
            set(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, operationA(shape.kind()));
            set(descriptor, CUBLASLT_MATMUL_DESC_TRANSB, operationB(shape.kind()));
            set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(shape.ending()));
            return descriptor;
        }
    }

    /** BGRADB sums the second operand over k and writes the sums where a bias would be read. */
    private static int epilogue(Ending ending) {
        return switch (ending) {
            case PLAIN -> CUBLASLT_EPILOGUE_DEFAULT;
            case BIAS -> CUBLASLT_EPILOGUE_BIAS;
            case BIAS_GRADIENT -> CUBLASLT_EPILOGUE_BGRADB;
        };
    }

    private static void set(cublasLtMatmulDescOpaque_t descriptor, int attribute, int value) {
        try (IntPointer number = new IntPointer(new int[] {value})) {
            CublasLt.check(cublasLtMatmulDescSetAttribute(descriptor, attribute, number, Integer.BYTES),
                "cublasLtMatmulDescSetAttribute");
        }
    }

    /** The layout of a dense matrix that is {@code rows x columns} after its operation. */
    private static cublasLtMatrixLayoutOpaque_t layout(DType dtype, int operation, long rows, long columns) {
        long storedRows = operation == CUBLAS_OP_N ? rows : columns;
        long storedColumns = operation == CUBLAS_OP_N ? columns : rows;
        try (PointerPointer<Pointer> made = new PointerPointer<>(1)) {
            CublasLt.check(cublasLtMatrixLayoutCreate(made, type(dtype), storedRows, storedColumns, storedRows),
                "cublasLtMatrixLayoutCreate");
            return new cublasLtMatrixLayoutOpaque_t(made.get());
        }
    }

    private static int type(DType dtype) {
        return switch (dtype) {
            case F32 -> CUDA_R_32F;
            case F16 -> CUDA_R_16F;
            case BF16 -> CUDA_R_16BF;
            case F64 -> throw new IllegalArgumentException("no products in double precision");
        };
    }

    @Override
    public void close() {
        biasAddress.close();
        cublasLtMatrixLayoutDestroy(layoutC);
        cublasLtMatrixLayoutDestroy(layoutB);
        cublasLtMatrixLayoutDestroy(layoutA);
        cublasLtMatmulDescDestroy(descriptor);
    }
}
