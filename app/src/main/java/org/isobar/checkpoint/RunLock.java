package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.LockFile;

/**
 * Prevents two runs from writing logs and checkpoints into the same directory. The lock is a file lock of the operating
 * system, which is released when the process ends in any way. If the file system does not support locks, nothing is
 * locked; a {@link CheckpointWriter} then still detects another run when both save the same iteration.
 */
public final class RunLock implements AutoCloseable {
    private static final String FILE = ".checkpoints.lock";
    private static final int MAX_BYTES = 1000;

    private final FileChannel channel;

    private RunLock(FileChannel channel) {
        this.channel = channel;
    }

    /**
     * Locks a directory; creates it if it does not exist. Rank 0 calls it before it reads or writes anything there.
     *
     * @param run describes this run (host, process, time) in the error message of another run
     * @throws UserException if another run has locked the directory, it is not writable, or the lock's file is a link
     */
    public static RunLock take(Path directory, String run) {
        Path file = directory.resolve(FILE);
        try {
            Files.createDirectories(directory);
            FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.CREATE, LinkOption.NOFOLLOW_LINKS);
            Optional<String> holder = lock(channel, run);
            if (holder.isPresent()) {
                channel.close();
                throw new UserException("another run writes into " + directory + ": " + holder.get()
                    + "; wait until it ends, or choose another directory with --expdir or --run_num");
            }
            return new RunLock(channel);
        } catch (IOException e) {
            throw FileFault.unwritable("lock " + file, "--expdir", e);
        }
    }

    /**
     * Unlocks the directory. The file stays, because deleting it would release a lock that another run may hold now.
     */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw FileFault.unwritable("the lock of the run's directory", "--expdir", e);
        }
    }

    /** Tries to lock the file; returns the description of the run that holds the lock, if it is another one. */
    private static Optional<String> lock(FileChannel channel, String run) throws IOException {
        if (!LockFile.tryLock(channel)) {
            ByteBuffer text = ByteBuffer.allocate(MAX_BYTES);
            channel.read(text, 0);
            return Optional.of(StandardCharsets.UTF_8.decode(text.flip()).toString().strip());
        }
        AtomicFile.writeFully(channel.truncate(0), ByteBuffer.wrap((run + "\n").getBytes(StandardCharsets.UTF_8)));
        return Optional.empty();
    }
}
