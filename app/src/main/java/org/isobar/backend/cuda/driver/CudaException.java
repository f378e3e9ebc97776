package org.isobar.backend.cuda.driver;

import org.isobar.device.DeviceException;

/** A failed call of a CUDA library. The message has the name of the call and the text of the error. */
public final class CudaException extends DeviceException {
    private static final long serialVersionUID = 1;

    public CudaException(String message) {
        super(message);
    }
}
