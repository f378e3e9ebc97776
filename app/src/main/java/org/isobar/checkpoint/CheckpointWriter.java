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
import java.util.SortedMap;
import java.util.concurrent.ThreadLocalRandom;

import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RankMessages.Urgency;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.FreeSpace;

/**
 * Writes sharded checkpoints; all ranks write in parallel, into a directory that all of them see. Rank 0 creates a
 * temporary directory and announces it. Each rank writes its shard into it, and reports a {@link Sidecar} to rank 0.
 * Rank 0 adds the manifest and renames the directory, which completes the checkpoint. The ranks exchange messages
 * beside the collectives, so that this can run on a background thread during training. A process that is killed before
 * the end leaves a temporary directory, which the next writer deletes. If it was replacing a checkpoint, the next
 * writer restores that one.
 *
 * @param directory directory of all checkpoints of the run; rank 0 creates it if it does not exist
 * @param run       identifies this start of the job, equal on all of its ranks: files of another run are not mistaken
 *                  for those of this one
 * @param rank      this rank
 * @param messages  between this rank and the others that write
 * @param timeout   how long rank 0 waits for the reports of all ranks, and how long the other ranks wait for rank 0,
 *                  which may first delete old files. From its announcement on, they wait at most 30 s until they see
 *                  the temporary directory
 */
public record CheckpointWriter(Path directory, String run, int rank, RankMessages messages, Duration timeout) {
    private static final String RUN = "run";
    private static final String OPTION = "--expdir";
    private static final String BEGUN = "save begun";
    private static final String WRITTEN = "save written ";
    private static final int POLL_MILLIS = 20;
    private static final Duration MAX_DIRECTORY_TIMEOUT = Duration.ofSeconds(30);

    /** The reason why a checkpoint could not be written. */
    private static final class FailedException extends Exception {
        private static final long serialVersionUID = 1L;

        private final String own; // without the rank, as that rank reports it

        FailedException(String reason) {
            this(reason, reason);
        }

        FailedException(String reason, String own) {
            super(reason);
            this.own = own;
        }
    }

    /**
     * What rank 0 announces when it has created the temporary directory.
     *
     * @param number  identifies this write
     * @param failure why there is no directory; null if there is one
     */
    record Beginning(String number, String failure) { }

    /** Number of ranks that write. */
    public int ranks() {
        return messages.ranks();
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
     * @throws org.isobar.distributed.CommunicationException if the job fails meanwhile
     */
    public SaveResult write(long iteration, List<TensorSlice> pieces, CheckpointMetadata metadata) {
        Path path = directory.resolve(CheckpointFiles.checkpoint(iteration));
        Path temporary = directory.resolve(CheckpointFiles.temporary(iteration));
        try {
            if (rank == 0) {
                String number = begin(temporary);
                Sidecar own = writeShard(temporary, pieces);
                CheckpointManifest manifest =
                    CheckpointManifest.of(iteration, metadata, collect(number, temporary, own));
                complete(temporary, path, manifest);
            } else {
                writeAndReport(awaitBeginning(temporary), temporary, pieces);
            }
            return new SaveResult.Done(path);
        } catch (FailedException | MalformedException e) {
            return failed(path, temporary, e.getMessage());
        } catch (IOException e) {
            return failed(path, temporary, unwritable(path, e));
        } catch (CommunicationException lost) {
            failed(path, temporary, lost.getMessage());
            throw lost;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed(path, temporary, "the writing thread was interrupted");
        }
    }

    private static String unwritable(Path path, IOException e) {
        return FileFault.unwritable(path.toString(), OPTION, e).getMessage();
    }

    /** Creates the temporary directory and announces it; returns what identifies this write. */
    private String begin(Path temporary) throws IOException {
        String number = Long.toHexString(ThreadLocalRandom.current().nextLong());
        try {
            Files.createDirectories(directory);
            CheckpointFiles.deleteTemporaries(directory);
            Files.createDirectory(temporary);
            try {
                CheckpointFiles.writeAtomically(temporary.resolve(RUN), CheckpointManifest.JSON.writeValueAsBytes(run));
            } catch (IOException e) {
                CheckpointFiles.delete(temporary);
                throw e;
            }
        } catch (IOException e) {
            announce(new Beginning(number, unwritable(temporary, e)));
            throw e;
        }
        announce(new Beginning(number, null));
        return number;
    }

    private void announce(Beginning beginning) throws IOException {
        messages.announce(BEGUN, CheckpointManifest.JSON.writeValueAsBytes(beginning));
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

    /** Waits until rank 0 has created the temporary directory; returns what identifies this write. */
    private String awaitBeginning(Path temporary) throws IOException, FailedException, InterruptedException {
        byte[] announced = messages.await(BEGUN, timeout).orElseThrow(() ->
            new FailedException("rank 0 has not created " + temporary + timedOut(timeout)));
        Beginning beginning = CheckpointManifest.JSON.readValue(announced, Beginning.class);
        if (beginning.failure != null) {
            throw new FailedException("rank 0: " + beginning.failure);
        }
        return beginning.number;
    }

    /** Writes this rank's shard, and reports to rank 0 that it has done so, or why not. */
    private void writeAndReport(String number, Path temporary, List<TensorSlice> pieces)
        throws IOException, FailedException, InterruptedException {
        String failure = "it ended unexpectedly";
        try {
            awaitDirectory(temporary);
            Sidecar written = writeShard(temporary, pieces);
            failure = null;
            messages.report(WRITTEN + number, CheckpointManifest.JSON.writeValueAsBytes(written), Urgency.NORMAL);
        } catch (FailedException e) {
            failure = e.own;
            throw e;
        } catch (IOException e) {
            failure = unwritable(temporary, e);
            throw e;
        } finally {
            if (failure != null) {
                messages.report(WRITTEN + number, CheckpointManifest.JSON.writeValueAsBytes(
                    new Sidecar(rank, List.of(), null, failure)), Urgency.URGENT);
            }
        }
    }

    private Sidecar writeShard(Path temporary, List<TensorSlice> pieces) throws IOException, FailedException {
        try {
            StoredFile stored = pieces.isEmpty() ? null : writeFile(temporary, pieces);
            return new Sidecar(rank, pieces.stream().map(Sidecar.WrittenPiece::of).toList(), stored, null);
        } catch (UserException e) {
            throw new FailedException("rank " + rank + ": " + e.getMessage(), e.getMessage());
        }
    }

    /** Writes the shard under its final name: the report, which follows, says whether the shard is complete. */
    private StoredFile writeFile(Path temporary, List<TensorSlice> pieces) throws IOException {
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
            Files.deleteIfExists(shard); // makes room for the log if the disk is full
            throw FileFault.unwritable("shard " + shard, OPTION, e);
        }
        return stored.getFirst();
    }

    /** Fails before writing if the shard does not fit on the disk, to leave the remaining space to the run's log. */
    private static void requireSpace(Path temporary, List<TensorSlice> pieces) throws IOException {
        long needed = pieces.stream().mapToLong(TensorSlice::bytes).sum();
        long free = FreeSpace.of(temporary);
        if (free < needed) {
            throw new IOException("No space left on device: " + needed + " bytes are needed, " + free + " are free");
        }
    }

    /** Waits for the reports of all ranks; in rank order. */
    private List<Sidecar> collect(String number, Path temporary, Sidecar own)
        throws IOException, FailedException, InterruptedException {
        SortedMap<Integer, byte[]> reports = messages.gather(WRITTEN + number, timeout);
        if (ranks() > 1 && !isOurs(temporary)) {
            throw anotherRun();
        }
        List<Sidecar> sidecars = new ArrayList<>(List.of(own));
        for (byte[] report : reports.values()) {
            sidecars.add(CheckpointManifest.JSON.readValue(report, Sidecar.class));
        }
        for (Sidecar sidecar : sidecars) {
            if (sidecar.failure() != null) {
                throw new FailedException("rank " + sidecar.rank() + ": " + sidecar.failure());
            }
        }
        for (int peer = 1; peer < ranks(); peer++) {
            if (!reports.containsKey(peer)) {
                throw new FailedException("rank " + peer + " has not written its shard" + timedOut(timeout));
            }
        }
        return sidecars;
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

    /** Waits until this rank sees the directory, which a shared file system may show late. */
    private void awaitDirectory(Path temporary) throws IOException, FailedException, InterruptedException {
        Duration limit = directoryTimeout();
        long start = System.nanoTime();
        while (!isOurs(temporary)) {
            if (System.nanoTime() - start > limit.toNanos()) {
                throw Files.exists(temporary.resolve(RUN)) ? anotherRun() : new FailedException("it does not see "
                    + temporary + ", which rank 0 has created; give a directory that all ranks see, with " + OPTION);
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** How long a rank other than 0 waits for the temporary directory, which rank 0 has created. */
    Duration directoryTimeout() {
        return timeout.compareTo(MAX_DIRECTORY_TIMEOUT) < 0 ? timeout : MAX_DIRECTORY_TIMEOUT;
    }

    private static String timedOut(Duration limit) {
        return " within " + limit.toMillis() / 1000.0 + " s; check that process and its disk";
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
