package org.isobar.data.synthetic;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;

/**
 * Lets one process at a time make synthetic data in a directory. The operating system releases the lock when its
 * process ends in any way. Where the file system does not support locks, nothing is locked.
 */
final class SyntheticLock implements AutoCloseable {
    private static final long INTERVAL_MILLIS = 200;

    private final Path file;
    private final FileChannel channel;

    private SyntheticLock(Path file, FileChannel channel) {
        this.file = file;
        this.channel = channel;
    }

    /**
     * Waits until no other process makes data in the directory, which is created if it does not exist.
     *
     * @param progress is told if there is another process
     * @throws UserException if the directory cannot be written, or this thread is interrupted
     */
    static SyntheticLock take(Path directory, Consumer<String> progress) {
        Path file = directory.resolve(".synthetic.lock");
        try {
            Files.createDirectories(directory);
            FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE,
                LinkOption.NOFOLLOW_LINKS);
            if (!isTaken(channel)) {
                progress.accept("Waiting for another process that makes data at " + directory);
                wait(channel, directory);
            }
            return new SyntheticLock(file, channel);
        } catch (IOException failure) {
            throw FileFault.unwritable("data to " + directory, "--data_dir", failure);
        }
    }

    private static void wait(FileChannel channel, Path directory) throws IOException {
        try {
            while (!isTaken(channel)) {
                Thread.sleep(INTERVAL_MILLIS);
            }
        } catch (InterruptedException stop) {
            channel.close();
            Thread.currentThread().interrupt();
            throw new UserException("interrupted while another process made data at " + directory, stop);
        }
    }

    private static boolean isTaken(FileChannel channel) {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException held) {
            return false; // by another thread of this process
        } catch (IOException unsupported) {
            return true;
        }
    }

    /** The next process finds the data, or makes them. */
    @Override
    public void close() {
        file.toFile().delete();
        try {
            channel.close();
        } catch (IOException failure) {
            throw FileFault.unwritable("the lock " + file, "--data_dir", failure);
        }
    }
}
