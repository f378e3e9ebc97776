package org.isobar.device;

/** Operations and collectives that were captured once and can be launched as a whole, on the same tensors. */
public interface DeviceGraph extends AutoCloseable {
    /**
     * Issues all captured operations. Arguments that were passed by value keep the value of the capture; tensors are
     * read again.
     */
    void launch();

    /** Frees what the device keeps for this graph. */
    @Override
    void close();
}
