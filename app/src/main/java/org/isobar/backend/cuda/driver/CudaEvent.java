package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_NOT_READY;
import static org.bytedeco.cuda.global.cudart.CU_EVENT_DEFAULT;
import static org.bytedeco.cuda.global.cudart.CU_EVENT_DISABLE_TIMING;
import static org.bytedeco.cuda.global.cudart.cuEventCreate;
import static org.bytedeco.cuda.global.cudart.cuEventDestroy;
import static org.bytedeco.cuda.global.cudart.cuEventElapsedTime;
import static org.bytedeco.cuda.global.cudart.cuEventQuery;
import static org.bytedeco.cuda.global.cudart.cuEventRecord;
import static org.bytedeco.cuda.global.cudart.cuEventSynchronize;

import org.bytedeco.cuda.cudart.CUevent_st;

/** A point in the work of a stream. Who waits for one that was never recorded does not wait. */
public final class CudaEvent implements AutoCloseable {
    private final CUevent_st handle = new CUevent_st();

    public CudaEvent() {
        this(CU_EVENT_DISABLE_TIMING);
    }

    private CudaEvent(int flags) {
        Cuda.check(cuEventCreate(handle, flags), "cuEventCreate");
    }

    /** One that notes when it is reached, which costs the stream a little. */
    static CudaEvent timed() {
        return new CudaEvent(CU_EVENT_DEFAULT);
    }

    /** The driver's handle. */
    CUevent_st handle() {
        return handle;
    }

    /** Stands from now on for all that was issued to the stream so far. */
    public void record(CudaStream stream) {
        Cuda.check(cuEventRecord(handle, stream.handle()), "cuEventRecord");
    }

    /** Whether that work is done. */
    public boolean reached() {
        int result = cuEventQuery(handle);
        if (result != CUDA_ERROR_NOT_READY) {
            Cuda.check(result, "cuEventQuery");
        }
        return result != CUDA_ERROR_NOT_READY;
    }

    /** Milliseconds from {@code earlier} to this; both are {@link #timed} and have been reached. */
    float millisSince(CudaEvent earlier) {
        float[] millis = {0};
        Cuda.check(cuEventElapsedTime(millis, earlier.handle, handle), "cuEventElapsedTime");
        return millis[0];
    }

    /** The host waits until that work is done. */
    void synchronize() {
        Cuda.check(cuEventSynchronize(handle), "cuEventSynchronize");
    }

    @Override
    public void close() {
        cuEventDestroy(handle); // fails if the device has
    }
}
