package org.isobar.checkpoint;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.distributed.Shard;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * What {@code checkpoint.json} says: a JSON object whose last entry is the CRC32C of all that stands before it.
 *
 * @param format        {@link #FORMAT}
 * @param version       of the format: 1
 * @param iteration     after which the checkpoint was made
 * @param configuration of the run that made it
 * @param state         of that run's training loop; whatever the loop gave
 * @param tensors       by name
 * @param blockBytes    bytes that have a checksum in common
 * @param files         by name
 */
record CheckpointManifest(String format, int version, long iteration, Map<String, String> configuration, JsonNode state,
        Map<String, StoredTensor> tensors, int blockBytes, Map<String, StoredFile> files) {
    static final String FILE = "checkpoint.json";
    static final String FORMAT = "isobar checkpoint";
    static final int VERSION = 1;
    static final int BLOCK_BYTES = 1 << 20;
    static final JsonMapper JSON = JsonMapper.builder()
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
        .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
        .build();
    private static final String CHECKSUM = "crc32c";
    private static final Pattern LAST_LINE = Pattern.compile("\\n  \"" + CHECKSUM + "\" : (\\d{1,10})\\n\\}\\n\\z");

    /** A tensor: its extents, and the slices that it was written in. */
    record StoredTensor(List<Long> shape, List<StoredPiece> pieces) {
        Shape whole() {
            return Shape.of(shape.stream().mapToLong(Long::longValue).toArray());
        }
    }

    /** A slice of a tensor: the file in which it lies under the tensor's name, and which slice it is. */
    record StoredPiece(String file, Shard shard) { }

    /** The file's contents. */
    byte[] toBytes() throws JsonProcessingException {
        String json = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(this);
        String summed = json.substring(0, json.lastIndexOf("\n}")) + ",\n";
        long sum = checksum(summed.getBytes(StandardCharsets.UTF_8));
        return (summed + "  \"" + CHECKSUM + "\" : " + sum + "\n}\n").getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Reads the file's contents.
     *
     * @throws MalformedException if they are not what a writer of this version or an earlier one wrote
     */
    static CheckpointManifest parse(byte[] bytes) throws MalformedException {
        Matcher last = LAST_LINE.matcher(new String(bytes, StandardCharsets.ISO_8859_1)); // a character for each byte
        check(last.find(), FILE + " does not end with its checksum: it is cut short, or not Isobar's");
        check(Long.parseLong(last.group(1)) == checksum(Arrays.copyOf(bytes, last.start() + 1)),
            FILE + " is not what was written: its checksum is wrong");
        try {
            JsonNode root = JSON.readTree(new String(bytes, StandardCharsets.UTF_8));
            check(FORMAT.equals(root.path("format").textValue()), FILE + " is not Isobar's");
            int version = root.path("version").asInt();
            check(version <= VERSION, "it has version " + version + " of the format, and this program reads "
                + VERSION + " at most: it needs a newer Isobar");
            ((ObjectNode) root).remove(CHECKSUM);
            CheckpointManifest manifest = JSON.treeToValue(root, CheckpointManifest.class);
            manifest.check();
            return manifest;
        } catch (JsonProcessingException e) {
            throw new MalformedException(FILE + " is not understood: " + e.getOriginalMessage());
        }
    }

    /** Checks that the pieces make up the tensors, and that all files are ones of a checkpoint. */
    void check() throws MalformedException {
        check(blockBytes > 0 && blockBytes % DType.F32.bytes() == 0, "blocks of " + blockBytes + " bytes");
        for (Map.Entry<String, StoredFile> file : files.entrySet()) {
            check(CheckpointFiles.isShard(file.getKey()), file.getKey() + " is no name of a shard");
            long blocks = Math.ceilDiv(file.getValue().bytes(), (long) blockBytes);
            check(file.getValue().crc32c().size() == blocks, file.getKey() + " has " + file.getValue().crc32c().size()
                + " checksums for " + blocks + " blocks");
        }
        for (Map.Entry<String, StoredTensor> tensor : tensors.entrySet()) {
            checkPieces(tensor.getKey(), tensor.getValue());
        }
    }

    private void checkPieces(String name, StoredTensor tensor) throws MalformedException {
        check(!tensor.pieces.isEmpty(), "tensor " + name + " has no pieces");
        check(tensor.shape.stream().allMatch(extent -> extent > 0), "tensor " + name + " is empty");
        Shard first = tensor.pieces.getFirst().shard;
        check(first.parts() == 1 || first.dim() < tensor.shape.size()
            && tensor.shape.get(first.dim()) % first.parts() == 0,
            "tensor " + name + " " + tensor.shape + " cannot be cut as " + first);
        Set<Integer> slices = new HashSet<>();
        for (StoredPiece piece : tensor.pieces) {
            check(files.containsKey(piece.file), "tensor " + name + " is said to be in " + piece.file);
            check(piece.shard.dim() == first.dim() && piece.shard.parts() == first.parts(),
                "tensor " + name + " is cut in two ways, as " + first + " and as " + piece.shard);
            check(slices.add(piece.shard.index()), "tensor " + name + " has " + piece.shard + " twice");
        }
        check(slices.size() == first.parts(), "tensor " + name + " has " + slices.size() + " of "
            + first.parts() + " slices");
    }

    /** Puts together what all ranks have written. */
    static CheckpointManifest of(long iteration, CheckpointMetadata description, List<Sidecar> shares)
        throws MalformedException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        Map<String, StoredFile> files = new LinkedHashMap<>();
        for (Sidecar share : shares) {
            if (share.stored() != null) {
                files.put(CheckpointFiles.shard(share.rank()), share.stored());
            }
            for (Sidecar.WrittenPiece piece : share.pieces()) {
                StoredTensor tensor = tensors.computeIfAbsent(piece.name(),
                    name -> new StoredTensor(piece.shape(), new ArrayList<>()));
                check(tensor.shape.equals(piece.shape()), "tensor " + piece.name() + " has the shapes "
                    + tensor.shape + " and " + piece.shape());
                tensor.pieces.add(new StoredPiece(CheckpointFiles.shard(share.rank()), piece.shard()));
            }
        }
        CheckpointManifest manifest = new CheckpointManifest(FORMAT, VERSION, iteration, description.configuration(),
            JSON.valueToTree(description.state()), tensors, BLOCK_BYTES, files);
        manifest.check();
        return manifest;
    }

    private static long checksum(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return sum.getValue();
    }

    private static void check(boolean holds, String otherwise) throws MalformedException {
        if (!holds) {
            throw new MalformedException(otherwise);
        }
    }
}
