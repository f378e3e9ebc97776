package org.isobar.backend.cuda.driver;

import org.isobar.device.DeviceException;

/** A call of a CUDA library that failed: its name and what the library says of it. */
public final class CudaException extends DeviceException {
    private static final long serialVersionUID = 1;

    public CudaException(String message) {
        super(message);
    }
}
