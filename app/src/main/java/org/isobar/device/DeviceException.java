package org.isobar.device;

/** A device that failed in the midst of its work. Nothing can be computed on it any more: the process must end. */
public class DeviceException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** An exception whose message says which call failed, and how. */
    public DeviceException(String message) {
        super(message);
    }
}
