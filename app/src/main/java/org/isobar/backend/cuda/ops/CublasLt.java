package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.CUBLAS_STATUS_SUCCESS;
import static org.bytedeco.cuda.global.cublas.cublasLtGetStatusName;
import static org.bytedeco.cuda.global.cublas.cublasLtGetStatusString;

import org.bytedeco.javacpp.BytePointer;
import org.isobar.backend.cuda.driver.CudaException;

/** What every call of cuBLASLt goes through. */
final class CublasLt {
    private CublasLt() { }

    /**
     * Checks the result of a call of cuBLASLt.
     *
     * @param call its name, or what was to be computed
     * @throws CudaException if it failed
     */
    static void check(int status, Object call) {
        if (status != CUBLAS_STATUS_SUCCESS) {
            try (BytePointer name = cublasLtGetStatusName(status); BytePointer text = cublasLtGetStatusString(status)) {
                throw new CudaException(call + ": " + name.getString() + " (" + text.getString() + ")");
            }
        }
    }
}
