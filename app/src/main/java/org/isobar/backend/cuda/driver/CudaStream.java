package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CU_STREAM_CAPTURE_STATUS_NONE;
import static org.bytedeco.cuda.global.cudart.CU_STREAM_NON_BLOCKING;
import static org.bytedeco.cuda.global.cudart.cuEventRecord;
import static org.bytedeco.cuda.global.cudart.cuStreamCreate;
import static org.bytedeco.cuda.global.cudart.cuStreamDestroy;
import static org.bytedeco.cuda.global.cudart.cuStreamIsCapturing;
import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;
import static org.bytedeco.cuda.global.cudart.cuStreamWaitEvent;

import org.bytedeco.cuda.cudart.CUstream_st;

/** A CUDA stream: its work runs in the order of issue. Different streams are ordered only by events. */
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

    /** Marks with {@code event} all work issued to this stream so far. */
    public void record(CudaEvent event) {
        Cuda.check(cuEventRecord(event.handle(), handle), "cuEventRecord");
    }

    /** Makes later work of this stream wait for {@code event}. The host does not wait. */
    public void await(CudaEvent event) {
        Cuda.check(cuStreamWaitEvent(handle, event.handle(), 0), "cuStreamWaitEvent");
    }

    /** Blocks the host until all work issued to this stream is done. */
    public void synchronize() {
        Cuda.check(cuStreamSynchronize(handle), "cuStreamSynchronize");
    }

    @Override
    public void close() {
        cuStreamDestroy(handle); // returns an error after a device failure; ignored
    }
}
