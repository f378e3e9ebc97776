package org.isobar.device;

/** The memory of a device: how much was held, for the log's memory lines, and how much can still be had. */
public interface MemoryGauge {
    /** The most bytes held so far: of the whole device for a GPU, of this process's resident memory for a CPU. */
    long highWatermark();

    /** Bytes that can still be allocated; unbounded unless a device knows better. */
    default long available() {
        return Long.MAX_VALUE;
    }
}
