package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_SUCCESS;
import static org.bytedeco.cuda.global.cudart.cuGetErrorName;
import static org.bytedeco.cuda.global.cudart.cuGetErrorString;

import org.bytedeco.javacpp.BytePointer;

/** Checks the results of driver calls. */
public final class Cuda {
    private Cuda() { }

    /**
     * Checks the result of a call of the driver.
     *
     * @param call name of the function, or of the kernel launched
     * @throws CudaException if the call failed
     */
    public static void check(int result, String call) {
        if (result != CUDA_SUCCESS) {
            throw new CudaException(call + ": " + describe(result));
        }
    }

    private static String describe(int result) {
        try (BytePointer name = new BytePointer(); BytePointer text = new BytePointer()) {
            cuGetErrorName(result, name);
            cuGetErrorString(result, text);
            return name.isNull() ? "error " + result : name.getString() + " (" + text.getString() + ")";
        }
    }
}
