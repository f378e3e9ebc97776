package org.isobar.device;

/** Operations and collectives that were issued once and can be issued again as a whole, on the same tensors. */
public interface DeviceGraph extends AutoCloseable {
    /** Issues them again. What was passed by value then has the same value now; what lies in tensors is read anew. */
    void replay();

    /** Frees what the device keeps of them. */
    @Override
    void close();
}
