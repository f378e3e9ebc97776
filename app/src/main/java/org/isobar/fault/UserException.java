package org.isobar.fault;

/**
 * An error that the user can fix: invalid input, an invalid option, or missing hardware or software. The program prints
 * the message without a stack trace and exits with code 2. The message says what is wrong, where, and what to do. It
 * may quote files and options: it is made printable by {@link PlainText}.
 */
public class UserException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Creates an exception without a cause. */
    public UserException(String message) {
        super(PlainText.of(message));
    }

    /** Creates an exception that was caused by another one. */
    public UserException(String message, Throwable cause) {
        super(PlainText.of(message), cause);
    }
}
