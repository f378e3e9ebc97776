package org.isobar.backend.cuda.driver;

import org.bytedeco.javacpp.Pointer;

/** A JavaCPP pointer to device memory. It can be moved to other addresses, so that calls allocate nothing. */
public final class DevicePointer extends Pointer {

    /** Moves this pointer to another address and returns it. */
    public DevicePointer at(long deviceAddress) {
        address = deviceAddress;
        return this;
    }
}
