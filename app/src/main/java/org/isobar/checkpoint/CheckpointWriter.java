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

import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * Writes checkpoints, on each rank its share, in parallel. Ranks meet in the file system alone, so that this may run on
 * a thread beside training: rank 0 makes a temporary directory, each rank writes its shard there and then a sidecar
 * that says how it went, and rank 0 adds the manifest, renames the directory and thereby completes the checkpoint. A
 * process that is killed meanwhile leaves a temporary directory, which the next writer deletes; a checkpoint that it
 * was about to replace gets its name back.
 *
 * @param directory of all checkpoints of the run; rank 0 makes it if need be
 * @param run       tells this start of the job from all others, the same on each of its ranks: what a rank finds of
 *                  another run it does not take for its own
 * @param rank      this rank
 * @param ranks     how many write
 * @param patience  how long rank 0 waits for all sidecars, and another rank for the temporary directory; but for that
 *                  not over 30 s: rank 0 makes it at once, or not at all
 */
public record CheckpointWriter(Path directory, String run, int rank, int ranks, Duration patience) {
    private static final String RUN = "run";
    private static final String OPTION = "--expdir";
    private static final int POLL_MILLIS = 20;
    private static final Duration MOST_FOR_DIRECTORY = Duration.ofSeconds(30);

    /** Why there will be no checkpoint. */
    private static final class FailedException extends Exception {
        private static final long serialVersionUID = 1L;

        FailedException(String reason) {
            super(reason);
        }
    }

    /** What has to be there before a rank can go on. */
    private interface Awaited {
        boolean isThere() throws IOException;
    }

    /**
     * Writes this rank's share of a checkpoint, and on rank 0 completes it when all others have written theirs. All
     * ranks call it, for one checkpoint after the other; together their pieces are each slice of each tensor once. A
     * checkpoint of the same iteration is replaced, and a directory of that name that holds anything else is not.
     *
     * <p>Whatever the file system or another rank does is a {@link SaveResult}. What {@link TensorSlice#values} throws
     * is passed on.
     *
     * @param iteration   after which it is made
     * @param pieces      this rank's share; may be empty
     * @param description what rank 0 writes into the manifest; of no account elsewhere
     */
    public SaveResult write(long iteration, List<TensorSlice> pieces, CheckpointMetadata description) {
        Path path = directory.resolve(CheckpointFiles.checkpoint(iteration));
        Path temporary = directory.resolve(CheckpointFiles.temporary(iteration));
        try {
            if (rank == 0) {
                begin(temporary);
            } else {
                awaitDirectory(temporary);
            }
            Sidecar own = writeShare(temporary, pieces);
            if (rank == 0) {
                CheckpointManifest manifest = CheckpointManifest.of(iteration, description, collect(temporary, own));
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
            CheckpointFiles.writeWhole(temporary.resolve(RUN), CheckpointManifest.JSON.writeValueAsBytes(run));
        } catch (IOException e) {
            CheckpointFiles.delete(temporary);
            throw e;
        }
    }

    /** Whether the temporary directory is there, and this run's. */
    private boolean isOurs(Path temporary) throws IOException {
        try {
            return run.equals(CheckpointManifest.JSON.readValue(Files.readAllBytes(temporary.resolve(RUN)),
                String.class));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private Sidecar writeShare(Path temporary, List<TensorSlice> pieces) throws IOException, FailedException {
        Path sidecar = temporary.resolve(CheckpointFiles.sidecar(rank));
        Sidecar written;
        try {
            StoredFile stored = pieces.isEmpty() ? null : writeShard(temporary, pieces);
            written = new Sidecar(run, rank, pieces.stream().map(Sidecar.WrittenPiece::of).toList(), stored, null);
        } catch (UserException e) {
            FailedException failure = new FailedException("rank " + rank + ": " + e.getMessage());
            try {
                CheckpointFiles.writeWhole(sidecar, CheckpointManifest.JSON.writeValueAsBytes(
                    new Sidecar(run, rank, List.of(), null, e.getMessage())));
            } catch (IOException unsaid) { // rank 0 will wait in vain
                failure.addSuppressed(unsaid);
            }
            throw failure;
        }
        CheckpointFiles.writeWhole(sidecar, CheckpointManifest.JSON.writeValueAsBytes(written));
        return written;
    }

    /** The sidecar says whether a shard is whole, so that it needs no other name until then. */
    private StoredFile writeShard(Path temporary, List<TensorSlice> pieces) throws IOException {
        Path shard = temporary.resolve(CheckpointFiles.shard(rank));
        List<SafeTensorsWriter.NamedTensor> tensors = pieces.stream().map(piece ->
            new SafeTensorsWriter.NamedTensor(piece.name(), piece.local(), piece.values())).toList();
        List<StoredFile> stored = new ArrayList<>();
        try {
            requireRoom(temporary, pieces);
            CheckpointFiles.write(shard, file -> {
                BlockChecksumChannel checksums = new BlockChecksumChannel(file, CheckpointManifest.BLOCK_BYTES);
                SafeTensorsWriter.write(checksums, tensors, Map.of("format", "pt"));
                stored.add(checksums.written());
            });
        } catch (IOException e) {
            Files.deleteIfExists(shard); // room for the sidecar, should the disk be full
            throw FileFault.unwritable("shard " + shard, OPTION, e);
        }
        return stored.getFirst();
    }

    /** A disk that is too small for the shard is not filled with a part of it: the run's log may need the rest. */
    private static void requireRoom(Path temporary, List<TensorSlice> pieces) throws IOException {
        long needed = pieces.stream().mapToLong(TensorSlice::bytes).sum();
        long free = temporary.toFile().getUsableSpace(); // 0 if unknown
        if (free > 0 && free < needed) {
            throw new IOException("No space left on device: " + needed + " bytes are needed, " + free + " are free");
        }
    }

    /** What all ranks have written, in their order. */
    private List<Sidecar> collect(Path temporary, Sidecar own) throws IOException, FailedException {
        List<Sidecar> shares = new ArrayList<>(List.of(own));
        long start = System.nanoTime();
        for (int peer = 1; peer < ranks; peer++) {
            Path file = temporary.resolve(CheckpointFiles.sidecar(peer));
            if (!await(start, patience, () -> Files.exists(file) || !isOurs(temporary))) {
                throw new FailedException("rank " + peer + " has not written its share" + late(patience));
            }
            if (!isOurs(temporary)) {
                throw anotherRun();
            }
            Sidecar share = CheckpointManifest.JSON.readValue(Files.readAllBytes(file), Sidecar.class);
            if (share.failure() != null) {
                throw new FailedException("rank " + peer + ": " + share.failure());
            }
            shares.add(share);
        }
        return shares;
    }

    private void complete(Path temporary, Path path, CheckpointManifest manifest) throws IOException, FailedException {
        byte[] json = manifest.toBytes();
        CheckpointFiles.write(temporary.resolve(CheckpointManifest.FILE), file ->
            AtomicFile.writeFully(file, ByteBuffer.wrap(json)));
        if (!isOurs(temporary)) {
            throw anotherRun();
        }
        boolean occupied = Files.exists(path, LinkOption.NOFOLLOW_LINKS);
        if (occupied && !CheckpointFiles.holdsACheckpointAlone(path)) {
            throw new FailedException(path + " is in its place and is no checkpoint; move it away");
        }
        for (int peer = 0; peer < ranks; peer++) {
            Files.delete(temporary.resolve(CheckpointFiles.sidecar(peer)));
        }
        Files.delete(temporary.resolve(RUN)); // no rank looks for it any more: all shares are there
        Path replaced = directory.resolve(CheckpointFiles.replaced(manifest.iteration()));
        try {
            AtomicFile.forceDirectory(temporary);
            if (occupied) { // until the second rename there is none of that name, so nothing is done in between
                Files.move(path, replaced, StandardCopyOption.ATOMIC_MOVE);
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            if (occupied) {
                CheckpointFiles.putBack(replaced, path);
            }
            CheckpointFiles.delete(temporary);
            throw e;
        }
        AtomicFile.forceDirectory(directory);
        CheckpointFiles.delete(replaced);
    }

    private FailedException anotherRun() {
        return new FailedException("another run writes its checkpoints into " + directory
            + ", or has removed what this one wrote; end one of the two, or give " + OPTION + " another directory");
    }

    private void awaitDirectory(Path temporary) throws IOException, FailedException {
        Duration limit = patienceForDirectory();
        if (!await(System.nanoTime(), limit, () -> isOurs(temporary))) {
            if (Files.exists(temporary.resolve(RUN))) {
                throw anotherRun();
            }
            throw new FailedException("rank 0 has not made " + temporary + late(limit));
        }
    }

    /** How long a rank other than 0 waits for the temporary directory. */
    Duration patienceForDirectory() {
        return patience.compareTo(MOST_FOR_DIRECTORY) < 0 ? patience : MOST_FOR_DIRECTORY;
    }

    private static String late(Duration limit) {
        return " after " + limit.toMillis() / 1000.0 + " s; see what keeps it, or its disk";
    }

    /** Whether what is awaited came in time. */
    private static boolean await(long start, Duration limit, Awaited awaited) throws IOException, FailedException {
        while (!awaited.isThere()) {
            if (System.nanoTime() - start > limit.toNanos()) {
                return false;
            }
            try {
                Thread.sleep(POLL_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new FailedException("its writer was interrupted");
            }
        }
        return true;
    }

    /** Leaves nothing behind but older checkpoints; what cannot be deleted now is deleted by the next writer. */
    private SaveResult failed(Path path, Path temporary, String reason) {
        String also = "";
        boolean interrupted = Thread.interrupted(); // whose thread can read no file
        try {
            if (rank == 0 && isOurs(temporary)) {
                CheckpointFiles.delete(temporary);
            }
        } catch (IOException e) {
            also = "; " + temporary + " remains";
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return new SaveResult.Failed("no checkpoint " + path + ": " + reason + also);
    }
}
