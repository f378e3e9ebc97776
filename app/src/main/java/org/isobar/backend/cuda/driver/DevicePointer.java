package org.isobar.backend.cuda.driver;

import org.bytedeco.javacpp.Pointer;

/** An address that JavaCPP hands to a library as it is; one object serves many, so that calls allocate nothing. */
public final class DevicePointer extends Pointer {

    /** Moves it to another address of the device's memory. */
    public DevicePointer at(long deviceAddress) {
        address = deviceAddress;
        return this;
    }
}
