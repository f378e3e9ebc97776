package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_NOT_READY;
import static org.bytedeco.cuda.global.cudart.CU_EVENT_DEFAULT;
import static org.bytedeco.cuda.global.cudart.CU_EVENT_DISABLE_TIMING;
import static org.bytedeco.cuda.global.cudart.cuEventCreate;
import static org.bytedeco.cuda.global.cudart.cuEventDestroy;
import static org.bytedeco.cuda.global.cudart.cuEventElapsedTime;
import static org.bytedeco.cuda.global.cudart.cuEventQuery;
import static org.bytedeco.cuda.global.cudart.cuEventSynchronize;

import org.bytedeco.cuda.cudart.CUevent_st;

/**
 * A CUDA event: marks a point in the work of a stream ({@link CudaStream#record}). Waiting on an event that was never
 * recorded returns immediately.
 */
public final class CudaEvent implements AutoCloseable {
    private final CUevent_st handle = new CUevent_st();

    public CudaEvent() {
        this(CU_EVENT_DISABLE_TIMING);
    }

    private CudaEvent(int flags) {
        Cuda.check(cuEventCreate(handle, flags), "cuEventCreate");
    }

    /** An event that also stores the time when it is reached, which costs the stream a little. */
    static CudaEvent timed() {
        return new CudaEvent(CU_EVENT_DEFAULT);
    }

    /** The driver's handle. */
    CUevent_st handle() {
        return handle;
    }

    /** Whether the work before this event is done. */
    public boolean reached() {
        int result = cuEventQuery(handle);
        if (result != CUDA_ERROR_NOT_READY) {
            Cuda.check(result, "cuEventQuery");
        }
        return result != CUDA_ERROR_NOT_READY;
    }

    /** Milliseconds from {@code earlier} to this event; both must be {@link #timed} and reached. */
    float millisSince(CudaEvent earlier) {
        float[] millis = {0};
        Cuda.check(cuEventElapsedTime(millis, earlier.handle, handle), "cuEventElapsedTime");
        return millis[0];
    }

    /** Blocks the host until the work before this event is done. */
    void synchronize() {
        Cuda.check(cuEventSynchronize(handle), "cuEventSynchronize");
    }

    @Override
    public void close() {
        cuEventDestroy(handle); // returns an error after a device failure; ignored
    }
}
