package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.nccl.ncclBfloat16;
import static org.bytedeco.cuda.global.nccl.ncclFloat16;
import static org.bytedeco.cuda.global.nccl.ncclFloat32;
import static org.bytedeco.cuda.global.nccl.ncclFloat64;
import static org.bytedeco.cuda.global.nccl.ncclGetErrorString;
import static org.bytedeco.cuda.global.nccl.ncclGetLastError;
import static org.bytedeco.cuda.global.nccl.ncclGetVersion;
import static org.bytedeco.cuda.global.nccl.ncclSuccess;

import org.bytedeco.javacpp.BytePointer;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;

/** Error checks, version and types of NCCL. */
final class Nccl {
    /** First version that orders launches of several communicators itself; ncclGetLastError is older. */
    private static final int OLDEST = 2_26_02;
    private static final int NEXT_MAJOR = 3_00_00;

    private Nccl() { }

    /**
     * Checks the result of a call of NCCL.
     *
     * @param call name of the function
     * @throws CudaException if the call failed
     */
    static void check(int result, String call) {
        if (result != ncclSuccess) {
            throw new CudaException(call + ": " + describe(result));
        }
    }

    /** NCCL's text for a result code, with its last error message if there is one. */
    static String describe(int result) {
        try (BytePointer text = ncclGetErrorString(result); BytePointer last = ncclGetLastError(null)) {
            String details = last == null || last.isNull() ? "" : last.getString().strip();
            return text.getString() + (details.isEmpty() ? "" : ", " + details);
        }
    }

    /**
     * Version of the library: 22903 for 2.29.3.
     *
     * @throws UserException if Isobar does not support it
     */
    static int version() {
        int[] version = {0};
        check(ncclGetVersion(version), "ncclGetVersion");
        return supported(version[0]);
    }

    /** Returns a version that Isobar supports; refuses any other. */
    static int supported(int version) {
        if (version < OLDEST || version >= NEXT_MAJOR) {
            throw new UserException("NCCL " + CudaComponent.dotted(version) + " will not do: Isobar needs "
                + CudaComponent.dotted(OLDEST) + " or newer, and older than 3");
        }
        return version;
    }

    /** NCCL's constant for a type. */
    static int type(DType dtype) {
        return switch (dtype) {
            case F16 -> ncclFloat16;
            case BF16 -> ncclBfloat16;
            case F32 -> ncclFloat32;
            case F64 -> ncclFloat64;
        };
    }
}
