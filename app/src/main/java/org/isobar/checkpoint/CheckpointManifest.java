package org.isobar.checkpoint;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * The contents of {@code checkpoint.json}: a JSON object whose last entry is the CRC32C of everything before it.
 *
 * @param format        {@link #FORMAT}
 * @param version       format version: 1
 * @param iteration     number of training steps done when the checkpoint was saved
 * @param configuration configuration of the run, key to value
 * @param state         state of the training loop, of any form
 * @param tensors       tensors by name
 * @param blockBytes    size of the blocks that have one checksum each
 * @param files         shard files by name
 */
record CheckpointManifest(String format, int version, long iteration, Map<String, String> configuration, JsonNode state,
        Map<String, StoredTensor> tensors, int blockBytes, Map<String, StoredFile> files) {
    static final String FILE = "checkpoint.json";
    static final String FORMAT = "isobar checkpoint";
    static final int VERSION = 1;
    static final int BLOCK_BYTES = 1 << 20;
    /** Reads and writes JSON; reads no number from text or from another kind of number. */
    static final JsonMapper JSON = StrictJson.mapper();
    /** Largest number of training steps: a double represents it exactly. */
    static final long MAX_ITERATION = 1L << 53;
    static final String CHECKSUM = "crc32c";
    private static final int MAX_BLOCK_BYTES = 1 << 26;
    private static final int MAX_RANK = 16;
    private static final int MAX_NAME = 1000;
    private static final int MAX_VALUE = 10_000;
    private static final int MAX_ENTRIES = 1000;
    private static final long MAX_CHECKSUM = 0xFFFF_FFFFL;

    /** A tensor: its shape, and the slices that it was written in. */
    record StoredTensor(List<Long> shape, List<StoredPiece> pieces) {
        Shape whole() {
            return Shape.of(shape.stream().mapToLong(Long::longValue).toArray());
        }
    }

    /** A slice of a tensor: the file that holds it, under the tensor's name, and which slice it is. */
    record StoredPiece(String file, Shard shard) { }

    /** Encodes the manifest as the file's contents. */
    byte[] toBytes() throws JsonProcessingException {
        String json = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(this);
        String summed = json.substring(0, json.lastIndexOf("\n}")) + ",\n";
        long sum = checksum(summed.getBytes(StandardCharsets.UTF_8));
        return (summed + "  \"" + CHECKSUM + "\" : " + sum + "\n}\n").getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Checks that all values are within their bounds, that the slices cover all tensors exactly once, and that all file
     * names are names of shards.
     */
    void check() throws MalformedException {
        check(iteration >= 0 && iteration <= MAX_ITERATION, "it has the iteration " + iteration);
        check(blockBytes > 0 && blockBytes <= MAX_BLOCK_BYTES && blockBytes % DType.F32.bytes() == 0,
            "it has blocks of " + blockBytes + " bytes");
        check(configuration.size() <= MAX_ENTRIES && configuration.entrySet().stream()
            .allMatch(entry -> entry.getKey().length() <= MAX_NAME && entry.getValue().length() <= MAX_VALUE),
            "its configuration is too long");
        for (Map.Entry<String, StoredFile> file : files.entrySet()) {
            check(CheckpointFiles.isShard(file.getKey()), file.getKey() + " is not the name of a shard");
            checkFile(file.getKey(), file.getValue());
        }
        for (Map.Entry<String, StoredTensor> tensor : tensors.entrySet()) {
            check(tensor.getKey().length() <= MAX_NAME, "a tensor's name has " + tensor.getKey().length()
                + " characters");
            checkShape(tensor.getKey(), tensor.getValue().shape);
            checkPieces(tensor.getKey(), tensor.getValue());
        }
    }

    private void checkFile(String name, StoredFile file) throws MalformedException {
        check(file.bytes() >= 0, name + " has " + file.bytes() + " bytes");
        long blocks = Math.ceilDiv(file.bytes(), (long) blockBytes);
        check(file.crc32c().size() == blocks, name + " has " + file.crc32c().size() + " checksums for " + blocks
            + " blocks");
        check(file.crc32c().stream().allMatch(sum -> sum >= 0 && sum <= MAX_CHECKSUM),
            name + " has a checksum that is not a CRC32C");
    }

    private static void checkShape(String name, List<Long> shape) throws MalformedException {
        check(shape.size() <= MAX_RANK, "tensor " + name + " has " + shape.size() + " dimensions");
        long largest = Long.MAX_VALUE / DType.F32.bytes();
        for (long extent : shape) {
            check(extent > 0, "tensor " + name + " is empty");
            check(extent <= largest, "tensor " + name + " " + shape + " is larger than any file");
            largest /= extent;
        }
    }

    private void checkPieces(String name, StoredTensor tensor) throws MalformedException {
        check(!tensor.pieces.isEmpty(), "tensor " + name + " has no slices");
        Shard first = tensor.pieces.getFirst().shard;
        check(first.parts() == 1 || first.dim() < tensor.shape.size()
            && tensor.shape.get(first.dim()) % first.parts() == 0,
            "tensor " + name + " " + tensor.shape + " cannot be cut as " + first);
        Set<Integer> slices = new HashSet<>();
        for (StoredPiece piece : tensor.pieces) {
            check(files.containsKey(piece.file), "tensor " + name + " refers to the unlisted file " + piece.file);
            check(piece.shard.dim() == first.dim() && piece.shard.parts() == first.parts(),
                "tensor " + name + " is cut in two ways, as " + first + " and as " + piece.shard);
            check(slices.add(piece.shard.index()), "tensor " + name + " has " + piece.shard + " twice");
        }
        check(slices.size() == first.parts(), "tensor " + name + " has " + slices.size() + " of "
            + first.parts() + " slices");
    }

    /**
     * Builds the manifest from the sidecars of all ranks.
     *
     * @throws MalformedException if the slices of all ranks do not cover every tensor exactly once
     */
    static CheckpointManifest of(long iteration, CheckpointMetadata metadata, List<Sidecar> sidecars)
        throws MalformedException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        Map<String, StoredFile> files = new LinkedHashMap<>();
        for (Sidecar sidecar : sidecars) {
            if (sidecar.stored() != null) {
                files.put(CheckpointFiles.shard(sidecar.rank()), sidecar.stored());
            }
            for (Sidecar.WrittenPiece piece : sidecar.pieces()) {
                StoredTensor tensor = tensors.computeIfAbsent(piece.name(),
                    name -> new StoredTensor(piece.shape(), new ArrayList<>()));
                check(tensor.shape.equals(piece.shape()), "tensor " + piece.name() + " has the shapes "
                    + tensor.shape + " and " + piece.shape());
                tensor.pieces.add(new StoredPiece(CheckpointFiles.shard(sidecar.rank()), piece.shard()));
            }
        }
        CheckpointManifest manifest = new CheckpointManifest(FORMAT, VERSION, iteration, metadata.configuration(),
            JSON.valueToTree(metadata.state()), tensors, BLOCK_BYTES, files);
        manifest.check();
        return manifest;
    }

    /** The CRC32C of bytes. */
    static long checksum(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return sum.getValue();
    }

    static void check(boolean condition, String message) throws MalformedException {
        if (!condition) {
            throw new MalformedException(message);
        }
    }
}
