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
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulAlgoCheck;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulAlgoGetHeuristic;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulPreferenceCreate;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulPreferenceDestroy;
import static org.bytedeco.cuda.global.cublas.cublasLtMatmulPreferenceSetAttribute;

import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.bytedeco.cuda.cublas.cublasLtMatmulAlgo_t;
import org.bytedeco.cuda.cublas.cublasLtMatmulHeuristicResult_t;
import org.bytedeco.cuda.cublas.cublasLtMatmulPreferenceOpaque_t;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.device.ops.ProductShape;

/**
 * An algorithm of cuBLASLt for a product, among those that its heuristic proposes.
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

    /** Number of proposals that are asked for. */
    private static final int MOST_PROPOSALS = 8;
    private static final int WORDS = 8; // of cublasLtMatmulAlgo_t

    private final cublasLtMatmulAlgo_t algorithm;
    private final long workspaceBytes;

    private MatmulAlgorithm(cublasLtMatmulAlgo_t algorithm, long workspaceBytes) {
        this.algorithm = algorithm;
        this.workspaceBytes = workspaceBytes;
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
     * Asks for the algorithm that cuBLASLt's heuristic prefers for a product.
     *
     * @throws CudaException if cuBLASLt has no algorithm for the product
     */
    static MatmulAlgorithm preferred(MatmulDescription product) {
        return restored(product, proposals(product, 1).getFirst());
    }

    /**
     * Asks cuBLASLt's heuristic for its first eight algorithms, the preferred one first.
     *
     * @return hexadecimal digits, from which the same version of cuBLASLt on such a GPU {@linkplain #restored restores}
     *         the algorithm (cuBLAS documentation, cublasLtMatmulAlgo_t)
     * @throws CudaException if cuBLASLt has no algorithm for the product
     */
    static List<String> proposals(MatmulDescription product) {
        return proposals(product, MOST_PROPOSALS);
    }

    /** Whether {@link #preferred} has an algorithm for the product. */
    static boolean exists(MatmulDescription product) {
        try {
            preferred(product).close();
            return true;
        } catch (CudaException none) {
            return false;
        }
    }

    private static List<String> proposals(MatmulDescription product, int most) {
        cublasLtMatmulPreferenceOpaque_t preference = preference(product.shape());
        try (cublasLtMatmulHeuristicResult_t results = new cublasLtMatmulHeuristicResult_t(most);
            IntPointer found = new IntPointer(new int[] {0})) {
            int status = cublasLtMatmulAlgoGetHeuristic(product.handle(), product.descriptor(), product.layoutA(),
                product.layoutB(), product.layoutC(), product.layoutC(), preference, most, results, found);
            if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_SUCCESS && found.get() == 0) {
                throw new CudaException("cuBLASLt has no algorithm for " + product.shape());
            }
            CublasLt.check(status, "cublasLtMatmulAlgoGetHeuristic, " + product.shape());
            List<String> usable = IntStream.range(0, found.get()).mapToObj(results::getPointer)
                .filter(result -> result.state() == CUBLAS_STATUS_SUCCESS).map(result -> digits(result.algo()))
                .toList();
            if (usable.isEmpty()) {
                CublasLt.check(results.getPointer(0).state(), "algorithm of cuBLASLt, " + product.shape());
            }
            return usable;
        } finally {
            cublasLtMatmulPreferenceDestroy(preference);
        }
    }

    private static String digits(cublasLtMatmulAlgo_t algorithm) {
        return IntStream.range(0, WORDS).mapToObj(word -> HexFormat.of().toHexDigits(algorithm.data(word)))
            .collect(Collectors.joining());
    }

    /**
     * Restores an algorithm.
     *
     * @param digits one of {@link #proposals}
     * @throws CudaException if cuBLASLt refuses it for this product
     */
    static MatmulAlgorithm restored(MatmulDescription product, String digits) {
        int digitsPerWord = 2 * Long.BYTES;
        if (digits.length() != WORDS * digitsPerWord || !digits.chars().allMatch(HexFormat::isHexDigit)) {
            throw new CudaException("not an algorithm of cuBLASLt: " + digits);
        }
        cublasLtMatmulAlgo_t algorithm = new cublasLtMatmulAlgo_t();
        for (int word = 0; word < WORDS; word++) {
            algorithm.data(word, HexFormat.fromHexDigitsToLong(digits, word * digitsPerWord,
                (word + 1) * digitsPerWord));
        }
        try (cublasLtMatmulHeuristicResult_t result = new cublasLtMatmulHeuristicResult_t()) {
            CublasLt.check(cublasLtMatmulAlgoCheck(product.handle(), product.descriptor(), product.layoutA(),
                product.layoutB(), product.layoutC(), product.layoutC(), algorithm, result),
                "cublasLtMatmulAlgoCheck, " + product.shape());
            if (result.workspaceSize() > MOST_WORKSPACE) {
                throw new CudaException("an algorithm of cuBLASLt needs " + result.workspaceSize()
                    + " bytes of workspace, more than " + MOST_WORKSPACE);
            }
            return new MatmulAlgorithm(algorithm, result.workspaceSize());
        } catch (CudaException refused) {
            algorithm.close();
            throw refused;
        }
    }

    private static cublasLtMatmulPreferenceOpaque_t preference(ProductShape shape) {
        try (PointerPointer<Pointer> made = new PointerPointer<>(1); LongPointer number = new LongPointer(1)) {
            CublasLt.check(cublasLtMatmulPreferenceCreate(made), "cublasLtMatmulPreferenceCreate");
            cublasLtMatmulPreferenceOpaque_t preference = new cublasLtMatmulPreferenceOpaque_t(made.get());
            set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, number.put(MOST_WORKSPACE), Long.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                number.put(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, number.put(shape.alignmentA()), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, number.put(shape.alignmentB()), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, number.put(shape.alignmentC()), Integer.BYTES);
            set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, number.put(shape.alignmentC()), Integer.BYTES);
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
        algorithm.close();
    }
}
