package org.isobar.os;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;

/**
 * A file by which processes take turns. The operating system releases its lock when the process ends in any way. The
 * file stays, because deleting it would release a lock that another process may hold by then.
 */
public final class LockFile {
    private LockFile() { }

    /**
     * Tries to take the lock of a file that is open for writing; returns whether this process has it. It has it also if
     * the file system does not support locks.
     */
    public static boolean tryLock(FileChannel channel) {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException held) {
            return false; // elsewhere in this process
        } catch (IOException unsupported) {
            return true;
        }
    }
}
