package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * Keeps two runs from writing logs and checkpoints into one directory. It is a lock of the operating system on a file
 * there, so it ends with the process that holds it, however that ends. Where the file system has no locks, nothing is
 * locked; a {@link CheckpointWriter} then still notices another run when both save the same iteration.
 */
public final class RunLock implements AutoCloseable {
    private static final String FILE = ".checkpoints.lock";
    private static final int MAX_BYTES = 1000;

    private final FileChannel channel;

    private RunLock(FileChannel channel) {
        this.channel = channel;
    }

    /**
     * Locks a directory; makes it if need be. Rank 0 calls it before it reads or writes anything there.
     *
     * @param run says to the user of another run which one this is: host, process, time
     * @throws UserException if another run has locked it, or nothing can be written there
     */
    public static RunLock take(Path directory, String run) {
        Path file = directory.resolve(FILE);
        try {
            Files.createDirectories(directory);
            FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.CREATE);
            Optional<String> holder = lock(channel, run);
            if (holder.isPresent()) {
                channel.close();
                throw new UserException("another run writes into " + directory + ": " + holder.get()
                    + "; wait for its end, or give --expdir or --run_num another directory");
            }
            return new RunLock(channel);
        } catch (IOException e) {
            throw FileFault.unwritable("lock " + file, "--expdir", e);
        }
    }

    /** Unlocks the directory. The file stays: to remove it would unlock what another run may have locked since. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw FileFault.unwritable("a directory's lock", "--expdir", e);
        }
    }

    /** Who holds the lock, if it is another run. */
    private static Optional<String> lock(FileChannel channel, String run) throws IOException {
        if (!isFree(channel)) {
            ByteBuffer text = ByteBuffer.allocate(MAX_BYTES);
            channel.read(text, 0);
            return Optional.of(StandardCharsets.UTF_8.decode(text.flip()).toString().strip());
        }
        AtomicFile.writeFully(channel.truncate(0), ByteBuffer.wrap((run + "\n").getBytes(StandardCharsets.UTF_8)));
        return Optional.empty();
    }

    private static boolean isFree(FileChannel channel) {
        try {
            FileLock lock = channel.tryLock();
            return lock != null;
        } catch (OverlappingFileLockException e) {
            return false; // held by this very process
        } catch (IOException e) {
            return true; // no locks here
        }
    }
}
