package org.isobar.device;

/** Memory usage of a device: the high watermark for the log's memory lines, and the memory still available. */
public interface MemoryGauge {
    /**
     * The largest number of bytes in use so far: of the whole device for a GPU, of this process's resident memory for a
     * CPU.
     */
    long highWatermark();

    /** Bytes that can still be allocated; {@link Long#MAX_VALUE} if the device does not report a limit. */
    default long available() {
        return Long.MAX_VALUE;
    }
}
