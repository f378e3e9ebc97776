package org.isobar.device;

/** A device failure during an operation. The device is no longer usable, so the process must exit. */
public class DeviceException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Creates an exception whose message says which call failed and how. */
    public DeviceException(String message) {
        super(message);
    }
}
