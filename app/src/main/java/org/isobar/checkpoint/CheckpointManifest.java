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
    static final JsonMapper JSON = JsonMapper.builder()
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
        .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
        .build();
    private static final String CHECKSUM = "crc32c";
    private static final Pattern LAST_LINE = Pattern.compile("\\n  \"" + CHECKSUM + "\" : (\\d{1,10})\\n\\}\\n\\z");

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
     * Parses the file's contents.
     *
     * @throws MalformedException if they are damaged, not Isobar's, or of a later format version
     */
    static CheckpointManifest parse(byte[] bytes) throws MalformedException {
        Matcher last = LAST_LINE.matcher(new String(bytes, StandardCharsets.ISO_8859_1)); // one character for each byte
        check(last.find(), FILE + " does not end with its checksum: it is truncated, or not Isobar's");
        check(Long.parseLong(last.group(1)) == checksum(Arrays.copyOf(bytes, last.start() + 1)),
            FILE + " is damaged: its checksum does not match");
        try {
            JsonNode root = JSON.readTree(new String(bytes, StandardCharsets.UTF_8));
            check(FORMAT.equals(root.path("format").textValue()), FILE + " is not Isobar's");
            int version = root.path("version").asInt();
            check(version <= VERSION, "it has format version " + version + ", and this program reads versions up to "
                + VERSION + ": it needs a newer Isobar");
            ((ObjectNode) root).remove(CHECKSUM);
            CheckpointManifest manifest = JSON.treeToValue(root, CheckpointManifest.class);
            manifest.check();
            return manifest;
        } catch (JsonProcessingException e) {
            throw new MalformedException(FILE + " cannot be parsed: " + e.getOriginalMessage());
        }
    }

    /** Checks that the slices cover all tensors exactly once, and that all file names are names of shards. */
    void check() throws MalformedException {
        check(blockBytes > 0 && blockBytes % DType.F32.bytes() == 0, "it has blocks of " + blockBytes + " bytes");
        for (Map.Entry<String, StoredFile> file : files.entrySet()) {
            check(CheckpointFiles.isShard(file.getKey()), file.getKey() + " is not the name of a shard");
            long blocks = Math.ceilDiv(file.getValue().bytes(), (long) blockBytes);
            check(file.getValue().crc32c().size() == blocks, file.getKey() + " has " + file.getValue().crc32c().size()
                + " checksums for " + blocks + " blocks");
        }
        for (Map.Entry<String, StoredTensor> tensor : tensors.entrySet()) {
            checkPieces(tensor.getKey(), tensor.getValue());
        }
    }

    private void checkPieces(String name, StoredTensor tensor) throws MalformedException {
        check(!tensor.pieces.isEmpty(), "tensor " + name + " has no slices");
        check(tensor.shape.stream().allMatch(extent -> extent > 0), "tensor " + name + " is empty");
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

    private static long checksum(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return sum.getValue();
    }

    private static void check(boolean condition, String message) throws MalformedException {
        if (!condition) {
            throw new MalformedException(message);
        }
    }
}
