package org.isobar.distributed;

/**
 * The ranks of a job cannot go on together: one has died, is stopped, or asked for something else than its peers. The
 * message names this rank, the group, the operation with its number, and the cause. No communicator of the job can be
 * used after it.
 */
public final class CommunicationException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** A failure found here, or told by a peer. */
    public CommunicationException(String message) {
        super(message);
    }

    /** A failure that came to light through another exception. */
    public CommunicationException(String message, Throwable cause) {
        super(message, cause);
    }
}
