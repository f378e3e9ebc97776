package org.isobar.fault;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** What the operating system says is wrong, in words: some exceptions carry a path as their whole message. */
public final class IoReason {
    private IoReason() { }

    /** The reason alone ("No space left on device"), without the path, which the caller's message names. */
    public static String of(IOException exception) {
        return switch (exception) {
            case NoSuchFileException _ -> "No such file or directory";
            case AccessDeniedException _ -> "Permission denied";
            case FileAlreadyExistsException _ -> "File exists";
            case NotDirectoryException _ -> "Not a directory";
            case FileSystemException failure when failure.getReason() != null -> failure.getReason();
            default -> exception.getMessage() == null ? exception.getClass().getSimpleName() : exception.getMessage();
        };
    }
}
