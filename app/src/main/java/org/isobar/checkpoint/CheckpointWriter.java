package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * Writes sharded checkpoints; all ranks write in parallel. The ranks synchronize through the file system only, so that
 * this can run on a background thread during training. Rank 0 creates a temporary directory. Each rank writes its shard
 * into it, then a {@link Sidecar} that reports the result. Rank 0 adds the manifest and renames the directory, which
 * completes the checkpoint. A process that is killed before that leaves a temporary directory, which the next writer
 * deletes. If it was replacing a checkpoint, the next writer restores that one.
 *
 * @param directory directory of all checkpoints of the run; rank 0 creates it if it does not exist
 * @param run       identifies this start of the job, equal on all of its ranks: files of another run are not mistaken
 *                  for those of this one
 * @param rank      this rank
 * @param ranks     number of ranks that write
 * @param timeout   how long rank 0 waits for all sidecars, and how long the other ranks wait for the temporary
 *                  directory. The latter wait is limited to 30 s, because rank 0 creates the directory at once or fails
 */
public record CheckpointWriter(Path directory, String run, int rank, int ranks, Duration timeout) {
    private static final String RUN = "run";
    private static final String OPTION = "--expdir";
    private static final int POLL_MILLIS = 20;
    private static final int MAX_POLL_MILLIS = 2000;
    private static final Duration MAX_DIRECTORY_TIMEOUT = Duration.ofSeconds(30);

    /** The reason why a checkpoint could not be written. */
    private static final class FailedException extends Exception {
        private static final long serialVersionUID = 1L;

        FailedException(String reason) {
            super(reason);
        }
    }

    /** A condition that a rank polls for. */
    private interface Condition {
        boolean holds() throws IOException;
    }

    /**
     * Writes this rank's shard of a checkpoint. On rank 0 waits for the other ranks and completes the checkpoint. All
     * ranks call it, for one checkpoint after the other, and their pieces together must be every slice of every tensor
     * exactly once. A checkpoint of the same iteration is replaced; a directory of that name with any other file in it
     * is not.
     *
     * <p>Failures of the file system and of other ranks are returned as a {@link SaveResult}. Exceptions of
     * {@link TensorSlice#values} propagate.
     *
     * @param iteration number of training steps done
     * @param pieces    the slices that this rank writes; may be empty
     * @param metadata  what rank 0 writes into the manifest; ignored on other ranks
     */
    public SaveResult write(long iteration, List<TensorSlice> pieces, CheckpointMetadata metadata) {
        Path path = directory.resolve(CheckpointFiles.checkpoint(iteration));
        Path temporary = directory.resolve(CheckpointFiles.temporary(iteration));
        try {
            if (rank == 0) {
                begin(temporary);
            } else {
                awaitDirectory(temporary);
            }
            Sidecar own = writeShardAndSidecar(temporary, pieces);
            if (rank == 0) {
                CheckpointManifest manifest = CheckpointManifest.of(iteration, metadata, collect(temporary, own));
                complete(temporary, path, manifest);
            }
            return new SaveResult.Done(path);
        } catch (FailedException | MalformedException e) {
            return failed(path, temporary, e.getMessage());
        } catch (IOException e) {
            return failed(path, temporary, FileFault.unwritable(path.toString(), OPTION, e).getMessage());
        }
    }

    private void begin(Path temporary) throws IOException {
        Files.createDirectories(directory);
        CheckpointFiles.deleteTemporaries(directory);
        Files.createDirectory(temporary);
        try {
            CheckpointFiles.writeAtomically(temporary.resolve(RUN), CheckpointManifest.JSON.writeValueAsBytes(run));
        } catch (IOException e) {
            CheckpointFiles.delete(temporary);
            throw e;
        }
    }

    /** Whether the temporary directory exists and belongs to this run. */
    private boolean isOurs(Path temporary) throws IOException {
        try {
            byte[] found = Files.readAllBytes(temporary.resolve(RUN));
            return run.equals(CheckpointManifest.JSON.readValue(found, String.class));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private Sidecar writeShardAndSidecar(Path temporary, List<TensorSlice> pieces)
        throws IOException, FailedException {
        Path sidecar = temporary.resolve(CheckpointFiles.sidecar(rank));
        Sidecar written;
        try {
            StoredFile stored = pieces.isEmpty() ? null : writeShard(temporary, pieces);
            written = new Sidecar(run, rank, pieces.stream().map(Sidecar.WrittenPiece::of).toList(), stored, null);
        } catch (UserException e) {
            FailedException failure = new FailedException("rank " + rank + ": " + e.getMessage());
            try {
                CheckpointFiles.writeAtomically(sidecar, CheckpointManifest.JSON.writeValueAsBytes(
                    new Sidecar(run, rank, List.of(), null, e.getMessage())));
            } catch (IOException unreported) { // rank 0 waits until its timeout
                failure.addSuppressed(unreported);
            }
            throw failure;
        }
        CheckpointFiles.writeAtomically(sidecar, CheckpointManifest.JSON.writeValueAsBytes(written));
        return written;
    }

    /** Writes the shard under its final name: the sidecar, which follows, says whether the shard is complete. */
    private StoredFile writeShard(Path temporary, List<TensorSlice> pieces) throws IOException {
        Path shard = temporary.resolve(CheckpointFiles.shard(rank));
        List<SafeTensorsWriter.NamedTensor> tensors = pieces.stream().map(piece ->
            new SafeTensorsWriter.NamedTensor(piece.name(), piece.local(), piece.values())).toList();
        List<StoredFile> stored = new ArrayList<>();
        try {
            requireSpace(temporary, pieces);
            CheckpointFiles.write(shard, file -> {
                BlockChecksumChannel checksums = new BlockChecksumChannel(file, CheckpointManifest.BLOCK_BYTES);
                SafeTensorsWriter.write(checksums, tensors, Map.of("format", "pt"));
                stored.add(checksums.finish());
            });
        } catch (IOException e) {
            Files.deleteIfExists(shard); // makes room for the sidecar if the disk is full
            throw FileFault.unwritable("shard " + shard, OPTION, e);
        }
        return stored.getFirst();
    }

    /** Fails before writing if the shard does not fit on the disk, to leave the remaining space to the run's log. */
    private static void requireSpace(Path temporary, List<TensorSlice> pieces) throws IOException {
        long needed = pieces.stream().mapToLong(TensorSlice::bytes).sum();
        long free = temporary.toFile().getUsableSpace(); // 0 if unknown
        if (free > 0 && free < needed) {
            throw new IOException("No space left on device: " + needed + " bytes are needed, " + free + " are free");
        }
    }

    /** Waits for the sidecars of all ranks; in rank order. Lists the directory, instead of asking for each file. */
    private List<Sidecar> collect(Path temporary, Sidecar own) throws IOException, FailedException {
        SortedMap<Integer, Sidecar> sidecars = new TreeMap<>(Map.of(0, own));
        if (ranks > 1 && !await(System.nanoTime(), timeout, () -> collected(temporary, sidecars))) {
            int missing = 1;
            while (sidecars.containsKey(missing)) {
                missing++;
            }
            throw new FailedException("rank " + missing + " has not written its shard" + timedOut(timeout));
        }
        for (Map.Entry<Integer, Sidecar> sidecar : sidecars.entrySet()) {
            if (sidecar.getValue().failure() != null) {
                throw new FailedException("rank " + sidecar.getKey() + ": " + sidecar.getValue().failure());
            }
        }
        if (sidecars.size() < ranks) {
            throw anotherRun();
        }
        return List.copyOf(sidecars.values());
    }

    /** Reads new sidecars. Returns whether all are there, one reports a failure, or the directory is another run's. */
    private boolean collected(Path temporary, Map<Integer, Sidecar> sidecars) throws IOException {
        if (!isOurs(temporary)) {
            return true;
        }
        try {
            readNew(temporary, sidecars);
        } catch (NoSuchFileException removed) { // by another run, which the next call finds
            return false;
        }
        return sidecars.size() == ranks || sidecars.values().stream().anyMatch(sidecar -> sidecar.failure() != null);
    }

    /** Reads the sidecars that have appeared. */
    private void readNew(Path temporary, Map<Integer, Sidecar> known) throws IOException {
        Set<String> names = CheckpointFiles.names(temporary);
        for (int peer = 1; peer < ranks; peer++) {
            if (!known.containsKey(peer) && names.contains(CheckpointFiles.sidecar(peer))) {
                Path file = temporary.resolve(CheckpointFiles.sidecar(peer));
                known.put(peer, CheckpointManifest.JSON.readValue(RegularFile.read(file, StrictJson.MAX_BYTES),
                    Sidecar.class));
            }
        }
    }

    private void complete(Path temporary, Path path, CheckpointManifest manifest) throws IOException, FailedException {
        byte[] json = manifest.toBytes();
        CheckpointFiles.write(temporary.resolve(CheckpointManifest.FILE), file ->
            AtomicFile.writeFully(file, ByteBuffer.wrap(json)));
        if (!isOurs(temporary)) {
            throw anotherRun();
        }
        boolean exists = Files.exists(path, LinkOption.NOFOLLOW_LINKS);
        if (exists && !CheckpointFiles.holdsOnlyACheckpoint(path)) {
            throw new FailedException(path + " exists and is not a checkpoint; move it away");
        }
        for (int peer = 0; peer < ranks; peer++) {
            Files.delete(temporary.resolve(CheckpointFiles.sidecar(peer)));
        }
        Files.delete(temporary.resolve(RUN)); // no rank needs it after all shards are written
        Path replaced = directory.resolve(CheckpointFiles.replaced(manifest.iteration()));
        try {
            AtomicFile.forceDirectory(temporary);
            if (exists) { // between the two renames no checkpoint has that name, so they follow each other directly
                Files.move(path, replaced, StandardCopyOption.ATOMIC_MOVE);
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            if (exists) {
                CheckpointFiles.restore(replaced, path);
            }
            CheckpointFiles.delete(temporary);
            throw e;
        }
        AtomicFile.forceDirectory(directory);
        CheckpointFiles.delete(replaced);
    }

    private FailedException anotherRun() {
        return new FailedException("another run writes its checkpoints into " + directory
            + ", or has removed the files of this run; stop one of the two, or choose another directory with "
            + OPTION);
    }

    private void awaitDirectory(Path temporary) throws IOException, FailedException {
        Duration limit = directoryTimeout();
        if (!await(System.nanoTime(), limit, () -> isOurs(temporary))) {
            if (Files.exists(temporary.resolve(RUN))) {
                throw anotherRun();
            }
            throw new FailedException("rank 0 has not created " + temporary + timedOut(limit));
        }
    }

    /** How long a rank other than 0 waits for the temporary directory. */
    Duration directoryTimeout() {
        return timeout.compareTo(MAX_DIRECTORY_TIMEOUT) < 0 ? timeout : MAX_DIRECTORY_TIMEOUT;
    }

    private static String timedOut(Duration limit) {
        return " within " + limit.toMillis() / 1000.0 + " s; check that process and its disk";
    }

    /** Polls until a condition holds; false if it does not hold within the limit. */
    private boolean await(long start, Duration limit, Condition condition) throws IOException, FailedException {
        for (int polls = 0; !condition.holds(); polls++) {
            long left = limit.toNanos() - (System.nanoTime() - start);
            if (left < 0) {
                return false;
            }
            try {
                Thread.sleep(Math.min(pollMillis(polls, ranks), 1 + TimeUnit.NANOSECONDS.toMillis(left)));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new FailedException("the writing thread was interrupted");
            }
        }
        return true;
    }

    /**
     * Time until the next poll in milliseconds. In a large job it grows up to a millisecond for each rank, so that all
     * ranks together look about 1000 times a second, and is random, so that they do not all look at once.
     */
    static long pollMillis(int polls, int ranks) {
        long longest = Math.clamp(ranks, POLL_MILLIS, MAX_POLL_MILLIS);
        long time = Math.min((long) POLL_MILLIS << Math.min(polls, 10), longest);
        return time == POLL_MILLIS ? time : ThreadLocalRandom.current().nextLong(time / 2, time + time / 2);
    }

    /** Deletes the temporary directory. What cannot be deleted now is deleted by the next writer. */
    private SaveResult failed(Path path, Path temporary, String reason) {
        String also = "";
        boolean interrupted = Thread.interrupted(); // file channels fail on an interrupted thread
        try {
            if (rank == 0 && isOurs(temporary)) {
                CheckpointFiles.delete(temporary);
            }
        } catch (IOException e) {
            also = "; " + temporary + " could not be deleted";
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return new SaveResult.Failed("checkpoint " + path + " was not saved: " + reason + also);
    }
}
