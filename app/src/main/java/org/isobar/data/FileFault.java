package org.isobar.data;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

import org.isobar.fault.UserException;

/** Turns a failed file operation into a message for the user. */
public final class FileFault {
    private FileFault() { }

    /** What went wrong with a file. {@code action} is "read" or "write". */
    public static UserException of(String action, Path path, IOException failure) {
        String remedy = action.equals("write") ? " Free space, or choose another directory." : "";
        return new UserException("Cannot " + action + " " + path + ": " + reason(failure, remedy), failure);
    }

    private static String reason(IOException failure, String remedy) {
        return switch (failure) {
            case NoSuchFileException missing -> "there is no " + missing.getFile() + ". Check the path.";
            case AccessDeniedException denied -> "no permission for " + denied.getFile()
                + ". Change its permissions or run as a user who has them.";
            case FileSystemException other when other.getReason() != null -> other.getReason() + "." + remedy;
            default -> (failure.getMessage() == null ? failure.toString() : failure.getMessage()) + "." + remedy;
        };
    }
}
