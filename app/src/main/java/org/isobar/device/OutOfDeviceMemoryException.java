package org.isobar.device;

import org.isobar.fault.UserException;

/** A plan needs more memory than the device has. */
public final class OutOfDeviceMemoryException extends UserException {
    private static final long serialVersionUID = 1L;

    /** An exception whose message says what was needed, what there is, and what would make it fit. */
    public OutOfDeviceMemoryException(String message) {
        super(message);
    }
}
