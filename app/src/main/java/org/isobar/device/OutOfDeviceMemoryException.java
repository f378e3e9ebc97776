package org.isobar.device;

import java.util.Locale;

import org.isobar.fault.UserException;

/** Reports that a run needs more memory than the device has. */
public final class OutOfDeviceMemoryException extends UserException {
    private static final long serialVersionUID = 1L;

    /** Creates an exception whose message says what is needed, what is available and what would make the run fit. */
    public OutOfDeviceMemoryException(String message) {
        super(message);
    }

    /** Formats bytes for such messages in units of 2^30 bytes, for example "1.50". */
    public static String gigabytes(long bytes) {
        return String.format(Locale.ROOT, "%.2f", bytes / 0x1p30);
    }
}
