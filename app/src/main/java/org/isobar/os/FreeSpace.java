package org.isobar.os;

import java.nio.file.Path;

/** Reads the free space of file systems. */
public final class FreeSpace {
    private FreeSpace() { }

    /**
     * Bytes that this process can write to the file system of a directory; {@link Long#MAX_VALUE} if it does not report
     * them. Such a file system, for example one in user space (FUSE), reports a total size of 0.
     */
    public static long of(Path directory) {
        long usable = directory.toFile().getUsableSpace();
        return usable > 0 || directory.toFile().getTotalSpace() > 0 ? usable : Long.MAX_VALUE;
    }
}
