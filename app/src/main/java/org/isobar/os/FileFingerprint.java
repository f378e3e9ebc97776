package org.isobar.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** Tells whether a file is still the one that an unfinished result was computed from. */
public final class FileFingerprint {
    private FileFingerprint() { }

    /**
     * Path, size and time of modification of a file.
     *
     * @throws org.isobar.fault.UserException if they cannot be read
     */
    public static String of(Path file) {
        try {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return file.toAbsolutePath().normalize() + " of " + attributes.size() + " bytes of "
                + attributes.lastModifiedTime();
        } catch (IOException failure) {
            throw FileFault.unreadable(file.toString(), failure);
        }
    }
}
