package org.isobar.device;

/** A graph of captured operations and collectives that can be launched repeatedly on the same tensors. */
public interface DeviceGraph extends AutoCloseable {
    /**
     * Issues all captured operations. Arguments passed by value keep their values from the capture. The contents of
     * tensors are read at each launch.
     */
    void launch();

    /** Frees the device resources of this graph. */
    @Override
    void close();
}
