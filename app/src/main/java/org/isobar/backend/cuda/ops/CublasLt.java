package org.isobar.backend.cuda.ops;

import static org.bytedeco.cuda.global.cublas.CUBLAS_STATUS_SUCCESS;
import static org.bytedeco.cuda.global.cublas.cublasLtGetStatusName;
import static org.bytedeco.cuda.global.cublas.cublasLtGetStatusString;

import org.bytedeco.javacpp.BytePointer;
import org.isobar.backend.cuda.driver.CudaException;

/** Error checking of cuBLASLt calls. */
final class CublasLt {
    private CublasLt() { }

    /**
     * Checks the status that a cuBLASLt call returned.
     *
     * @param call name of the call, or what it was to compute
     * @throws CudaException if the call failed
     */
    static void check(int status, Object call) {
        if (status != CUBLAS_STATUS_SUCCESS) {
            try (BytePointer name = cublasLtGetStatusName(status); BytePointer text = cublasLtGetStatusString(status)) {
                throw new CudaException(call + ": " + name.getString() + " (" + text.getString() + ")");
            }
        }
    }
}
