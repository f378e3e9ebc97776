package org.isobar.fault;

/**
 * An error that the user can fix: invalid input, an invalid option, or missing hardware or software. The program prints
 * the message without a stack trace and exits with code 2. The message says what is wrong, where, and what to do. It
 * may quote files and options: it is made printable by {@link PlainText}, and cut.
 */
public class UserException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final int MAX_LENGTH = 10_000;

    /** Creates an exception without a cause. */
    public UserException(String message) {
        super(line(message));
    }

    /** Creates an exception that was caused by another one. */
    public UserException(String message, Throwable cause) {
        super(line(message), cause);
    }

    private static String line(String message) {
        String plain = PlainText.of(message);
        return plain == null || plain.length() <= MAX_LENGTH ? plain : plain.substring(0, MAX_LENGTH) + "...";
    }
}
