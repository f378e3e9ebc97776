package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK;
import static org.bytedeco.cuda.global.cublas.CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
import static org.bytedeco.cuda.global.cublas.CUBLAS_STATUS_NOT_SUPPORTED;
import static org.bytedeco.cuda.global.cublas.CUBLAS_STATUS_SUCCESS;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulAlgoGetHeuristic;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulPreferenceCreate;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulPreferenceDestroy;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulPreferenceSetAttribute;

import org.bytedeco.cuda.cublas.cublasLtContext;
import org.bytedeco.cuda.cublas.cublasLtMatmulAlgo_t;
import org.bytedeco.cuda.cublas.cublasLtMatmulDescOpaque_t;
import org.bytedeco.cuda.cublas.cublasLtMatmulHeuristicResult_t;
import org.bytedeco.cuda.cublas.cublasLtMatmulPreferenceOpaque_t;
import org.bytedeco.cuda.cublas.cublasLtMatrixLayoutOpaque_t;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.isobar.backend.cuda.driver.CudaException;

/**
 * The algorithm that cuBLASLt's heuristic prefers for a product.
 *
 * <p>A product gives the same bits each time. An algorithm may split its sums (split-K) only if it keeps the parts in
 * single precision in the workspace and adds them in a separate step (reduction scheme COMPUTE_TYPE). Two schemes are
 * masked out: INPLACE, which adds the parts in the output in the order in which they arrive, and OUTPUT_TYPE, which
 * rounds the parts to the output's type first. In addition, cuBLAS promises the same bits on GPUs of one kind as long
 * as its workspace is not shared, which holds on one stream (its documentation, "Results Reproducibility").
 */
final class MatmulAlgorithm implements AutoCloseable {
    /** NVIDIA's recommendation for compute capability 9.0 and up (cuBLAS documentation, cublasSetWorkspace). */
    static final long MOST_WORKSPACE = 32L << 20;

    private final cublasLtMatmulHeuristicResult_t result;
    private final cublasLtMatmulAlgo_t algorithm;
    private final long workspaceBytes;

    private MatmulAlgorithm(cublasLtMatmulHeuristicResult_t result) {
        this.result = result;
        algorithm = result.algo();
        workspaceBytes = result.workspaceSize();
    }

    /** The algorithm, in the form that cuBLASLt takes. */
    cublasLtMatmulAlgo_t handle() {
        return algorithm;
    }

    /** Bytes of workspace that the algorithm uses. */
    long workspaceBytes() {
        return workspaceBytes;
    }

    /**
     * Asks cuBLASLt's heuristic for the algorithm of a product.
     *
     * @param descriptor operations and epilogue
     * @param layoutC    layout of the result, both as input and as output
     * @throws CudaException if cuBLASLt has no algorithm for the product
     */
    static MatmulAlgorithm choose(cublasLtContext handle, cublasLtMatmulDescOpaque_t descriptor,
        cublasLtMatrixLayoutOpaque_t layoutA, cublasLtMatrixLayoutOpaque_t layoutB,
        cublasLtMatrixLayoutOpaque_t layoutC, MatmulKey key) {
        cublasLtMatmulHeuristicResult_t result = new cublasLtMatmulHeuristicResult_t();
        cublasLtMatmulPreferenceOpaque_t preference = preference(key);
        try (IntPointer found = new IntPointer(new int[] {0})) {
            int status = cublasLtMatmulAlgoGetHeuristic(handle, descriptor, layoutA, layoutB, layoutC, layoutC,
                preference, 1, result, found);
            if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_SUCCESS && found.get() == 0) {
                throw new CudaException("cuBLASLt has no algorithm for " + key);
            }
            CublasLt.check(status, "cublasLtMatmulAlgoGetHeuristic, " + key);
            CublasLt.check(result.state(), "algorithm of cuBLASLt, " + key);
            return new MatmulAlgorithm(result);
        } catch (CudaException none) {
            result.close();
            throw none;
        } finally {
            cublasLtMatmulPreferenceDestroy(preference);
        }
    }

    private static cublasLtMatmulPreferenceOpaque_t preference(MatmulKey key) {
        try (PointerPointer<Pointer> made = new PointerPointer<>(1); LongPointer number = new LongPointer(1)) {
            CublasLt.check(cublasLtMatmulPreferenceCreate(made), "cublasLtMatmulPreferenceCreate");
            cublasLtMatmulPreferenceOpaque_t preference = new cublasLtMatmulPreferenceOpaque_t(made.get());
            set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, number.put(MOST_WORKSPACE), Long.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                number.put(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, number.put(key.alignmentA()), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, number.put(key.alignmentB()), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, number.put(key.alignmentC()), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, number.put(key.alignmentC()), Integer.BYTES);
            return preference;
        }
    }

    /** Sets an attribute of four or eight bytes; the machine is little-endian. */
    private static void set(cublasLtMatmulPreferenceOpaque_t preference, int attribute, Pointer number, int bytes) {
        CublasLt.check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, number, bytes),
            "cublasLtMatmulPreferenceSetAttribute");
    }

    @Override
    public void close() {
        result.close();
    }
}
