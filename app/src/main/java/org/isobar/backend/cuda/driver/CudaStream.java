package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CU_STREAM_CAPTURE_STATUS_NONE;
import static org.bytedeco.cuda.global.cudart.CU_STREAM_NON_BLOCKING;
import static org.bytedeco.cuda.global.cudart.cuEventRecord;
import static org.bytedeco.cuda.global.cudart.cuStreamCreateWithPriority;
import static org.bytedeco.cuda.global.cudart.cuStreamDestroy;
import static org.bytedeco.cuda.global.cudart.cuStreamGetPriority;
import static org.bytedeco.cuda.global.cudart.cuStreamIsCapturing;
import static org.bytedeco.cuda.global.cudart.cuStreamSynchronize;
import static org.bytedeco.cuda.global.cudart.cuStreamWaitEvent;

import org.bytedeco.cuda.cudart.CUstream_st;

/** A CUDA stream: its work runs in the order of issue. Different streams are ordered only by events. */
public final class CudaStream implements AutoCloseable {
    /** Which stream's work the GPU prefers. */
    public enum Priority {
        /** That of computation. */
        ORDINARY(0),
        /** The driver replaces the number by the highest priority of the device. */
        HIGHEST(Integer.MIN_VALUE);

        private final int number;

        Priority(int number) {
            this.number = number;
        }
    }

    private final CUstream_st handle = new CUstream_st();
    private final int[] capture = {0};

    /** A stream of ordinary priority. */
    public CudaStream() {
        this(Priority.ORDINARY);
    }

    /** Blocks of a stream of the highest priority run before waiting blocks of others. */
    public CudaStream(Priority priority) {
        Cuda.check(cuStreamCreateWithPriority(handle, CU_STREAM_NON_BLOCKING, priority.number),
            "cuStreamCreateWithPriority");
    }

    /** The driver's number for the priority of this stream; lower numbers are served first. */
    int priority() {
        int[] number = {0};
        Cuda.check(cuStreamGetPriority(handle, number), "cuStreamGetPriority");
        return number[0];
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
