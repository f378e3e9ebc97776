package org.isobar.checkpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
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
import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A complete checkpoint, open for reading. Any slice of any tensor can be read, whatever slices it was written in; only
 * the files and blocks that hold its elements are touched, and whatever is read is checked against its checksum. For
 * one thread.
 */
public final class Checkpoint implements StoredTensors {
    private static final int MAX_OPEN = 16; // each file has a buffer

    private final Path path;
    private final CheckpointManifest manifest;
    private final SequencedMap<String, ShardFile> open = new LinkedHashMap<>(MAX_OPEN, 1, true); // latest used last

    /** How closely a checkpoint is looked at before it is taken. */
    public enum IntegrityCheck {
        /** At its manifest and at the size of each file. */
        SIZES,
        /** At the checksums of all files, too: reads them from beginning to end. */
        CHECKSUMS
    }

    /** A slice of a tensor as it was written: the name of the file in which it lies, and which slice it is. */
    public record StoredSlice(String file, Shard shard) { }

    private Checkpoint(Path path, CheckpointManifest manifest) {
        this.path = path;
        this.manifest = manifest;
    }

    /**
     * Opens a checkpoint: reads its manifest and looks at the size of each file.
     *
     * @throws UserException if there is none, or it is incomplete, damaged, not Isobar's or of a later format
     */
    public static Checkpoint open(Path path) {
        Path file = path.resolve(CheckpointManifest.FILE);
        try {
            if (Files.isDirectory(path) && Files.notExists(file)) {
                throw new MalformedException("it is not complete, or not Isobar's: it has no "
                    + CheckpointManifest.FILE);
            }
            CheckpointManifest manifest = CheckpointManifest.parse(Files.readAllBytes(file));
            for (Map.Entry<String, StoredFile> entry : manifest.files().entrySet()) {
                checkSize(path.resolve(entry.getKey()), entry.getValue().bytes());
            }
            return new Checkpoint(path, manifest);
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoint " + path, e);
        } catch (MalformedException e) {
            throw unusable(path, e.getMessage());
        }
    }

    /**
     * {@link #open(Path)} after a closer look.
     *
     * @throws UserException also if a checksum is wrong that was looked at
     */
    static Checkpoint open(Path path, IntegrityCheck scrutiny) {
        Checkpoint checkpoint = open(path);
        List<String> damage = scrutiny == IntegrityCheck.SIZES ? List.of() : checkpoint.verify();
        if (!damage.isEmpty()) {
            checkpoint.close();
            throw unusable(path, damage.getFirst());
        }
        return checkpoint;
    }

    /**
     * Opens the checkpoint of the latest iteration that is sound.
     *
     * @param directory that checkpoints were written into; it need not be there
     * @param scrutiny  what makes a checkpoint sound
     * @param skipped   is told of each later one that is not, and why
     * @return nothing if there is none
     * @throws UserException if the directory cannot be read
     */
    public static Optional<Checkpoint> newest(Path directory, IntegrityCheck scrutiny, Consumer<String> skipped) {
        for (Path path : list(directory)) {
            try {
                return Optional.of(open(path, scrutiny));
            } catch (UserException e) {
                skipped.accept(e.getMessage());
            }
        }
        return Optional.empty();
    }

    /** What is named like a checkpoint in a directory, the latest iteration first, sound or not. */
    static List<Path> list(Path directory) {
        try {
            return CheckpointFiles.checkpoints(directory);
        } catch (NoSuchFileException | NotDirectoryException e) { // who writes there will say what is wrong
            return List.of();
        } catch (IOException e) {
            throw FileFault.unreadable("checkpoints in " + directory, e);
        }
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    /** The iteration after which it was made. */
    public long iteration() {
        return manifest.iteration();
    }

    /** Configuration of the run that made it, in the order in which it was given. */
    public Map<String, String> configuration() {
        return Collections.unmodifiableMap(manifest.configuration());
    }

    /**
     * What the training loop gave as its state.
     *
     * @throws UserException if that was no {@code type}
     */
    public <T> T state(Class<T> type) {
        try {
            return CheckpointManifest.JSON.treeToValue(manifest.state(), type);
        } catch (JsonProcessingException e) {
            throw unusable(path, "its state is not one that this program reads: " + e.getOriginalMessage());
        }
    }

    /** The same as text: a value for each name, those of objects in objects joined by dots. */
    public Map<String, String> state() {
        Map<String, String> entries = new LinkedHashMap<>();
        flatten("", manifest.state(), entries);
        return entries;
    }

    /** Names of all tensors, in the order in which they lie in the files. */
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

    /** Bytes of each file of tensors. */
    public Map<String, Long> files() {
        Map<String, Long> sizes = new LinkedHashMap<>();
        manifest.files().forEach((name, file) -> sizes.put(name, file.bytes()));
        return sizes;
    }

    /**
     * Reads a slice of a tensor.
     *
     * @param shard       which slice; it need not be one of those that were written
     * @param destination as many floats as the slice has elements; what it holds after a failure is undefined
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
     * Reads all files from beginning to end and says what is wrong with them.
     *
     * @return a message for each damaged block, missing file and piece; empty if all is well
     */
    public List<String> verify() {
        List<String> wrong = new ArrayList<>();
        for (String name : manifest.files().keySet()) {
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
            throw unusable(path, piece.file() + ": " + e.getMessage());
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

    private static void flatten(String prefix, JsonNode object, Map<String, String> entries) {
        for (Map.Entry<String, JsonNode> field : object.properties()) {
            String name = prefix + field.getKey();
            if (field.getValue().isObject()) {
                flatten(name + ".", field.getValue(), entries);
            } else {
                entries.put(name, field.getValue().isTextual() ? field.getValue().textValue()
                    : field.getValue().toString());
            }
        }
    }

    private static void checkSize(Path file, long bytes) throws IOException, MalformedException {
        try {
            long size = Files.size(file);
            if (size != bytes) {
                throw new MalformedException(file.getFileName() + " has " + size + " bytes instead of " + bytes);
            }
        } catch (NoSuchFileException e) {
            throw new MalformedException(file.getFileName() + " is missing");
        }
    }

    private static UserException unusable(Path path, String reason) {
        return new UserException("checkpoint " + path + " cannot be used: " + reason + "; give another one");
    }
}
