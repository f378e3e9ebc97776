package org.isobar.fault;

/**
 * A mistake that the user can mend: bad input, a bad option, a machine that lacks something. The program prints the
 * message alone, without a stack trace, and exits with code 2. The message says what is wrong, where, and what to do.
 */
public class UserException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** A mistake with nothing behind it. */
    public UserException(String message) {
        super(message);
    }

    /** A mistake that came to light through another exception. */
    public UserException(String message, Throwable cause) {
        super(message, cause);
    }
}
