package org.isobar.checkpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Consumer;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A complete checkpoint, open for reading. Any slice of any tensor can be read, whatever slices it was written in. Only
 * the files and blocks that hold the slice are read, and each block is checked against its checksum. Not thread-safe.
 */
public final class Checkpoint implements StoredTensors {
    private static final int MAX_OPEN = 16; // each file has a buffer

    private final Path path;
    private final CheckpointManifest manifest;
    private final SequencedMap<String, ShardFile> open = new LinkedHashMap<>(MAX_OPEN, 1, true); // in order of access

    /** What is checked when a checkpoint is opened. */
    public interface IntegrityCheck {
        /** The manifest and the size of each file. */
        IntegrityCheck SIZES = _ -> List.of();
        /** Also the checksums of all files, which are read completely. */
        IntegrityCheck CHECKSUMS = Checkpoint::verify;

        /**
         * Checks an open checkpoint and returns a message for each damage.
         *
         * @throws UserException if there is damage that the exception describes completely
         */
        List<String> damage(Checkpoint checkpoint);

        /** This check and, if it finds nothing, another one. */
        default IntegrityCheck and(IntegrityCheck other) {
            return checkpoint -> {
                List<String> damage = damage(checkpoint);
                return damage.isEmpty() ? other.damage(checkpoint) : damage;
            };
        }
    }

    /** A slice of a tensor as it was written: the name of its file, and which slice it is. */
    public record StoredSlice(String file, Shard shard) { }

    private Checkpoint(Path path, CheckpointManifest manifest) {
        this.path = path;
        this.manifest = manifest;
    }

    /**
     * Opens a checkpoint, reads its manifest and checks the size of each file.
     *
     * @throws UserException if it does not exist, is incomplete or damaged, is not one of Isobar's, or has a later
     * format version
     */
    public static Checkpoint open(Path path) {
        Checkpoint checkpoint = openChecked(path);
        try {
            ManifestReader.checkSizes(path, checkpoint.manifest);
            return checkpoint;
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoint " + path, e);
        } catch (MalformedException e) {
            throw unusable(path, e.getMessage());
        }
    }

    /**
     * Opens a checkpoint whose files other ranks have examined, and reads its manifest. Each other file is examined
     * only when it is read, because a thousand ranks that examine a thousand files delay a shared file system.
     *
     * @throws UserException as {@link #open(Path)} does, except for the other files
     */
    public static Checkpoint openChecked(Path path) {
        try {
            return new Checkpoint(path, ManifestReader.read(path));
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoint " + path, e);
        } catch (MalformedException e) {
            throw unusable(path, e.getMessage());
        }
    }

    /**
     * Opens a checkpoint after the given check.
     *
     * @throws UserException as {@link #open(Path)} does, and if the check finds damage
     */
    static Checkpoint open(Path path, IntegrityCheck check) {
        Checkpoint checkpoint = open(path);
        try {
            List<String> damage = check.damage(checkpoint);
            if (!damage.isEmpty()) {
                throw checkpoint.unusable(damage.getFirst());
            }
            return checkpoint;
        } catch (UserException e) {
            checkpoint.close();
            throw e;
        }
    }

    /**
     * Opens the newest checkpoint that passes the given check.
     *
     * @param directory directory of checkpoints; it need not exist
     * @param check     what is checked
     * @param skipped   receives a message for each newer checkpoint that fails the check
     * @return empty if no checkpoint passes
     * @throws UserException if the directory cannot be read
     */
    public static Optional<Checkpoint> newest(Path directory, IntegrityCheck check, Consumer<String> skipped) {
        for (Path path : list(directory)) {
            try {
                return Optional.of(open(path, check));
            } catch (UserException e) {
                skipped.accept(e.getMessage());
            }
        }
        return Optional.empty();
    }

    /** The directories named like checkpoints in a directory, newest first. They are not opened or checked. */
    static List<Path> list(Path directory) {
        try {
            return CheckpointFiles.checkpoints(directory);
        } catch (NoSuchFileException | NotDirectoryException e) { // a write there will report what is wrong
            return List.of();
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoints in " + directory, e);
        }
    }

    /** Path of the checkpoint. */
    public Path path() {
        return path;
    }

    /** The number of training steps done when it was saved. */
    public long iteration() {
        return manifest.iteration();
    }

    /** Configuration of the run that saved it, in its original order. */
    public Map<String, String> configuration() {
        return Collections.unmodifiableMap(manifest.configuration());
    }

    /**
     * The state of the training loop.
     *
     * @param later values of fields that programs of earlier versions did not write
     * @throws UserException if it cannot be read as {@code type}
     */
    public <T> T state(Class<T> type, Map<String, String> later) {
        ObjectNode state = ((ObjectNode) manifest.state()).deepCopy();
        later.forEach((field, value) -> {
            if (!state.has(field)) {
                state.put(field, value);
            }
        });
        try {
            return CheckpointManifest.JSON.treeToValue(state, type);
        } catch (JsonProcessingException e) {
            throw unusable("this program cannot read its training state: " + e.getOriginalMessage());
        }
    }

    /** The state of the training loop as text: name to value. Names of nested objects are joined by dots. */
    public Map<String, String> state() {
        return StrictJson.flat(manifest.state());
    }

    /** Names of all tensors, in the order of the files. */
    @Override
    public List<String> names() {
        return List.copyOf(manifest.tensors().keySet());
    }

    /**
     * Shape of a whole tensor.
     *
     * @throws UserException if there is no such tensor
     */
    @Override
    public Shape shape(String name) {
        return tensor(name).whole();
    }

    /**
     * The slices that a tensor was written in.
     *
     * @throws UserException if there is no such tensor
     */
    public List<StoredSlice> slices(String name) {
        return tensor(name).pieces().stream().map(piece -> new StoredSlice(piece.file(), piece.shard())).toList();
    }

    /** Name and size in bytes of each shard file. */
    public Map<String, Long> files() {
        Map<String, Long> sizes = new LinkedHashMap<>();
        manifest.files().forEach((name, file) -> sizes.put(name, file.bytes()));
        return sizes;
    }

    /**
     * Reads a slice of a tensor.
     *
     * @param shard       which slice; it may differ from the slices that were written
     * @param destination receives the elements of the slice as floats; undefined after a failure
     * @throws UserException if there is no such tensor or slice, a file cannot be read, or a block of it is damaged
     */
    public void read(String name, Shard shard, MemorySegment destination) {
        Shape shape = shape(name);
        if (destination.byteSize() != shard.local(shape).elements() * DType.F32.bytes()) {
            throw new IllegalArgumentException(name + " " + shape + ", " + shard + ", into " + destination.byteSize()
                + " bytes");
        }
        for (CheckpointManifest.StoredPiece piece : tensor(name).pieces()) {
            SliceOverlap overlap = SliceOverlap.of(shape, piece.shard(), shard);
            if (!overlap.isEmpty()) {
                read(name, piece, overlap, destination);
            }
        }
    }

    /** Reads a whole tensor. */
    @Override
    public void read(String name, MemorySegment destination) {
        read(name, Shard.whole(), destination);
    }

    /**
     * Reads all files completely and checks them.
     *
     * @return a message for each damaged block, missing file and missing slice; empty if there is no damage
     */
    public List<String> verify() {
        return verify(0, 1);
    }

    /** As {@link #verify()}, of every {@code parts}-th file from {@code part} on, so that ranks share the check. */
    public List<String> verify(int part, int parts) {
        List<String> wrong = new ArrayList<>();
        List<String> names = List.copyOf(manifest.files().keySet());
        for (int index = part; index < names.size(); index += parts) {
            String name = names.get(index);
            try (ShardFile file = ShardFile.open(path.resolve(name), manifest)) {
                List<String> damage = file.damage();
                damage.forEach(what -> wrong.add(name + ": " + what));
                if (damage.isEmpty()) {
                    checkPieces(name, file);
                }
            } catch (IOException e) {
                wrong.add(FileFault.unreadable(name, e).getMessage());
            } catch (MalformedException e) {
                wrong.add(name + ": " + e.getMessage());
            }
        }
        return wrong;
    }

    /** Closes the files. */
    @Override
    public void close() {
        for (ShardFile file : open.values()) {
            try {
                file.close();
            } catch (IOException e) {
                throw FileFault.unreadable("checkpoint " + path, e);
            }
        }
        open.clear();
    }

    private void read(String name, CheckpointManifest.StoredPiece piece, SliceOverlap overlap,
        MemorySegment destination) {
        try {
            ShardFile file = file(piece.file());
            long start = file.find(name, piece.shard().local(shape(name)));
            overlap.eachRun((from, to, elements) -> file.read(start + from * DType.F32.bytes(),
                destination.asSlice(to * DType.F32.bytes(), elements * DType.F32.bytes())));
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoint " + path.resolve(piece.file()), e);
        } catch (MalformedException e) {
            throw unusable(piece.file() + ": " + e.getMessage());
        }
    }

    private ShardFile file(String name) throws IOException {
        ShardFile file = open.get(name);
        if (file == null) {
            if (open.size() == MAX_OPEN) {
                open.pollFirstEntry().getValue().close();
            }
            file = ShardFile.open(path.resolve(name), manifest);
            open.put(name, file);
        }
        return file;
    }

    private void checkPieces(String name, ShardFile file) throws IOException, MalformedException {
        for (Map.Entry<String, CheckpointManifest.StoredTensor> tensor : manifest.tensors().entrySet()) {
            for (CheckpointManifest.StoredPiece piece : tensor.getValue().pieces()) {
                if (piece.file().equals(name)) {
                    file.find(tensor.getKey(), piece.shard().local(tensor.getValue().whole()));
                }
            }
        }
    }

    private CheckpointManifest.StoredTensor tensor(String name) {
        CheckpointManifest.StoredTensor tensor = manifest.tensors().get(name);
        if (tensor == null) {
            throw new UserException("no tensor " + name + " in " + path
                + "; give a checkpoint of the configured model");
        }
        return tensor;
    }

    /** The error that this checkpoint cannot be used. */
    public UserException unusable(String reason) {
        return unusable(path, reason);
    }

    private static UserException unusable(Path path, String reason) {
        return new UserException("checkpoint " + path + " cannot be used: " + reason + "; give another one");
    }
}
