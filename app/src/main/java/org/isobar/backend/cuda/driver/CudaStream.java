package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CU_STREAM_CAPTURE_STATUS_NONE;
import static org.bytedeco.cuda.global.cudart.CU_STREAM_NON_BLOCKING;
import static org.bytedeco.cuda.global.cudart.cuStreamCreate;
import static org.bytedeco.cuda.global.cudart.cuStreamDestroy;
import static org.bytedeco.cuda.global.cudart.cuStreamIsCapturing;
import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;
import static org.bytedeco.cuda.global.cudart.cuStreamWaitEvent;

import org.bytedeco.cuda.cudart.CUstream_st;

/** Work of a GPU that is done in the order in which it is issued; streams know nothing of each other but events. */
public final class CudaStream implements AutoCloseable {
    private final CUstream_st handle = new CUstream_st();
    private final int[] capture = {0};

    public CudaStream() {
        Cuda.check(cuStreamCreate(handle, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }

    /** The driver's handle. */
    public CUstream_st handle() {
        return handle;
    }

    /** Whether work issued to this stream is being captured in a CUDA graph instead of run. */
    public boolean isCapturing() {
        Cuda.check(cuStreamIsCapturing(handle, capture), "cuStreamIsCapturing");
        return capture[0] != CU_STREAM_CAPTURE_STATUS_NONE;
    }

    /** What is issued from now on is done after the work that the event stands for. The host does not wait. */
    public void await(CudaEvent event) {
        Cuda.check(cuStreamWaitEvent(handle, event.handle(), 0), "cuStreamWaitEvent");
    }

    /** The host waits until all that was issued is done. */
    public void synchronize() {
        Cuda.check(cuStreamSynchronize(handle), "cuStreamSynchronize");
    }

    @Override
    public void close() {
        cuStreamDestroy(handle); // fails if the device has
    }
}
