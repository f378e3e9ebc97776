package org.isobar.os;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

import org.isobar.fault.UserException;

/** Converts file errors to messages for the user. */
public final class FileFault {
    private FileFault() { }

    /** A read error. {@code what} names the file and what it holds: "weights /data/w.safetensors", for example. */
    public static UserException unreadable(String what, IOException failure) {
        return new UserException("cannot read " + what + ": " + reason(failure)
            + "; check the path and its permissions", failure);
    }

    /**
     * A write error.
     *
     * @param what   the file and what it holds: "log /logs/out.log", for example
     * @param option the command-line option that selects another directory
     */
    public static UserException unwritable(String what, String option, IOException failure) {
        return new UserException("cannot write " + what + ": " + reason(failure)
            + "; free space, fix the permissions, or choose another directory with " + option, failure);
    }

    /**
     * The operating system's error text ("No space left on device") without the path, which the message contains
     * already. Some exceptions have only a path as their message.
     */
    static String reason(IOException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "No such file or directory";
            case AccessDeniedException _ -> "Permission denied";
            case FileAlreadyExistsException _ -> "File exists";
            case NotDirectoryException _ -> "Not a directory";
            case DirectoryNotEmptyException _ -> "Directory not empty";
            case FileSystemException other when other.getReason() != null -> other.getReason();
            default -> other(failure);
        };
    }

    private static String other(IOException failure) {
        String message = failure.getMessage();
        if (message == null) {
            return failure.getClass().getSimpleName();
        }
        // Java adds this to the system's text, which is that of a loop of links.
        return message.endsWith("(NOFOLLOW_LINKS specified)") ? "a symbolic link, which is not followed" : message;
    }
}
