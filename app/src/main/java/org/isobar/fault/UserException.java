package org.isobar.fault;

import java.util.Arrays;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * An error that the user can fix: invalid input, an invalid option, or missing hardware or software. The program prints
 * the message without a stack trace and exits with code 2. The message says what is wrong, where, and what to do. It
 * may quote files and options: each of its lines is made printable by {@link PlainText}, and the whole is cut. A line
 * break is kept only before two spaces.
 */
public class UserException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final int MAX_LENGTH = 10_000;
    /** The next line of a list: it is indented, as no line of the log is. */
    private static final Pattern CONTINUATION = Pattern.compile("\n(?=  )");

    /** Creates an exception without a cause. */
    public UserException(String message) {
        super(printable(message));
    }

    /** Creates an exception that was caused by another one. */
    public UserException(String message, Throwable cause) {
        super(printable(message), cause);
    }

    private static String printable(String message) {
        String plain = message == null ? null
            : Arrays.stream(CONTINUATION.split(message, -1)).map(PlainText::of).collect(Collectors.joining("\n"));
        return plain == null || plain.length() <= MAX_LENGTH ? plain : plain.substring(0, MAX_LENGTH) + "...";
    }
}
