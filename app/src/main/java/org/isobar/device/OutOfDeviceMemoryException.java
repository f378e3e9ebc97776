package org.isobar.device;

import java.util.Locale;

import org.isobar.fault.UserException;

/** A plan needs more memory than the device has. */
public final class OutOfDeviceMemoryException extends UserException {
    private static final long serialVersionUID = 1L;

    /** An exception whose message says what was needed, what there is, and what would make it fit. */
    public OutOfDeviceMemoryException(String message) {
        super(message);
    }

    /** Bytes as such messages have them: "1.50", of 2^30 bytes each. */
    public static String gigabytes(long bytes) {
        return String.format(Locale.ROOT, "%.2f", bytes / 0x1p30);
    }
}
