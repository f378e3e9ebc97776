package org.isobar.os;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

import org.isobar.fault.UserException;

/** Failures of files as messages for the user. */
public final class FileFault {
    private FileFault() { }

    /** Something cannot be read. {@code what} says what it is and where: "weights /tmp/w.safetensors", say. */
    public static UserException unreadable(String what, IOException failure) {
        return new UserException("cannot read " + what + ": " + reason(failure)
            + "; check the path and its permissions", failure);
    }

    /**
     * Something cannot be written.
     *
     * @param what   what it is and where: "log /logs/out.log", say
     * @param option the command-line option that puts it into another directory
     */
    public static UserException unwritable(String what, String option, IOException failure) {
        return new UserException("cannot write " + what + ": " + reason(failure)
            + "; free space, mend the permissions, or give " + option + " another directory", failure);
    }

    /**
     * What the operating system says is wrong ("No space left on device"), without the path, which the message names:
     * some exceptions carry a path as their whole message.
     */
    static String reason(IOException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "No such file or directory";
            case AccessDeniedException _ -> "Permission denied";
            case FileAlreadyExistsException _ -> "File exists";
            case NotDirectoryException _ -> "Not a directory";
            case FileSystemException other when other.getReason() != null -> other.getReason();
            default -> failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
        };
    }
}
