package org.isobar.distributed;

/**
 * Thrown when the ranks of a job cannot continue: a rank has died or is stopped, or has issued a different operation
 * than its peers. The message names this rank, the group, the operation with its number, and the cause. Afterwards no
 * communicator of the job can be used.
 */
public final class CommunicationException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** A failure that was detected on this rank or reported by a peer. */
    public CommunicationException(String message) {
        super(message);
    }

    /** A failure that was detected through another exception. */
    public CommunicationException(String message, Throwable cause) {
        super(message, cause);
    }
}
