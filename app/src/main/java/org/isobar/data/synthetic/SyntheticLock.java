package org.isobar.data.synthetic;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.LockFile;

/** Lets one process at a time make synthetic data in a directory, if its file system supports locks. */
final class SyntheticLock implements AutoCloseable {
    private static final long INTERVAL_MILLIS = 200;

    private final FileChannel channel;

    private SyntheticLock(FileChannel channel) {
        this.channel = channel;
    }

    /**
     * Waits until no other process makes data in the directory, which is created if it does not exist.
     *
     * @param progress is told if there is another process
     * @throws UserException if the directory cannot be written, or this thread is interrupted
     */
    static SyntheticLock take(Path directory, Consumer<String> progress) {
        try {
            Files.createDirectories(directory);
            FileChannel channel = FileChannel.open(directory.resolve(".synthetic.lock"), StandardOpenOption.WRITE,
                StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS);
            if (!LockFile.tryLock(channel)) {
                progress.accept("Waiting for another process that makes data at " + directory);
                await(channel, directory);
            }
            return new SyntheticLock(channel);
        } catch (IOException failure) {
            throw FileFault.unwritable("data to " + directory, "--data_dir", failure);
        }
    }

    private static void await(FileChannel channel, Path directory) throws IOException {
        try {
            while (!LockFile.tryLock(channel)) {
                Thread.sleep(INTERVAL_MILLIS);
            }
        } catch (InterruptedException stop) {
            channel.close();
            Thread.currentThread().interrupt();
            throw new UserException("interrupted while another process made data at " + directory, stop);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException failure) {
            throw FileFault.unwritable("the lock of synthetic data", "--data_dir", failure);
        }
    }
}
