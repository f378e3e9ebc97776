package org.isobar.device;

/** How much memory the device holds, for the log's memory lines. */
public interface MemoryGauge {
    /** The most bytes held so far: of the whole device for a GPU, of this process's resident memory for a CPU. */
    long highWatermark();
}
