package org.isobar.checkpoint;

import static org.isobar.checkpoint.CheckpointManifest.CHECKSUM;
import static org.isobar.checkpoint.CheckpointManifest.FILE;
import static org.isobar.checkpoint.CheckpointManifest.FORMAT;
import static org.isobar.checkpoint.CheckpointManifest.VERSION;
import static org.isobar.checkpoint.CheckpointManifest.check;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.checkpoint.safetensors.SafeTensorsHeader.MalformedException;
import org.isobar.os.RegularFile;

/**
 * Reads the manifest of a checkpoint, which may be damaged or forged. Every field is checked, so that no later use of
 * the manifest can fail.
 */
final class ManifestReader {
    private static final JsonMapper JSON = StrictJson.mapperWithoutNull();
    private static final Pattern LAST_LINE = Pattern.compile("\\n  \"" + CHECKSUM + "\" : (\\d{1,10})\\n\\}\\n\\z");
    private static final int LAST_LINE_BYTES = 40;

    private ManifestReader() { }

    /**
     * Reads the manifest of the checkpoint at {@code path}. The shards are not examined.
     *
     * @throws MalformedException if the checkpoint is incomplete or damaged, is not Isobar's, is of another format
     *                            version, or of another iteration than its name says
     * @throws IOException        if a file cannot be read or is not a regular file
     */
    static CheckpointManifest read(Path path) throws IOException, MalformedException {
        Path file = path.resolve(FILE);
        if (Files.exists(path) && !Files.isDirectory(path)) {
            throw new NotDirectoryException(path.toString());
        }
        if (Files.isDirectory(path) && Files.notExists(file)) {
            throw new MalformedException("it is incomplete, or not an Isobar checkpoint: it has no " + FILE);
        }
        CheckpointManifest manifest = parse(RegularFile.read(file, StrictJson.MAX_BYTES));
        OptionalLong named = CheckpointFiles.iteration(path.toAbsolutePath());
        check(named.isEmpty() || named.getAsLong() == manifest.iteration(), "it is of iteration "
            + manifest.iteration() + ", which differs from its name");
        return manifest;
    }

    /**
     * Parses the file's contents.
     *
     * @throws MalformedException if they are damaged, not Isobar's, or of another format version
     */
    static CheckpointManifest parse(byte[] bytes) throws MalformedException {
        int tail = Math.max(0, bytes.length - LAST_LINE_BYTES);
        Matcher last = LAST_LINE.matcher(
            new String(bytes, tail, bytes.length - tail, StandardCharsets.ISO_8859_1)); // one character for each byte
        check(last.find(), FILE + " does not end with its checksum: it is truncated, or not Isobar's");
        check(Long.parseLong(last.group(1))
            == CheckpointManifest.checksum(Arrays.copyOf(bytes, tail + last.start() + 1)),
            FILE + " is damaged: its checksum does not match");
        try {
            JsonNode root = JSON.readTree(new String(bytes, StandardCharsets.UTF_8));
            check(root instanceof ObjectNode && FORMAT.equals(root.path("format").textValue()),
                FILE + " is not Isobar's");
            checkVersion(root.path("version"));
            check(root.path("state").isObject(), FILE + " has no training state");
            ((ObjectNode) root).remove(CHECKSUM);
            CheckpointManifest manifest = JSON.treeToValue(root, CheckpointManifest.class);
            manifest.check();
            return manifest;
        } catch (JsonProcessingException e) {
            throw new MalformedException(FILE + " cannot be parsed: " + e.getOriginalMessage());
        }
    }

    private static void checkVersion(JsonNode version) throws MalformedException {
        check(version.isIntegralNumber() && version.canConvertToLong() && version.longValue() > 0,
            "its format version is not a number from 1");
        check(version.longValue() <= VERSION, "it has format version " + version.longValue()
            + ", and this program reads versions up to " + VERSION + ": it needs a newer Isobar");
    }

    /** Checks that each shard of the checkpoint at {@code path} exists and has its size. */
    static void checkSizes(Path path, CheckpointManifest manifest) throws IOException, MalformedException {
        for (Map.Entry<String, StoredFile> entry : manifest.files().entrySet()) {
            checkSize(path.resolve(entry.getKey()), entry.getValue().bytes());
        }
    }

    private static void checkSize(Path file, long bytes) throws IOException, MalformedException {
        try {
            long size = RegularFile.size(file);
            check(size == bytes, file.getFileName() + " has " + size + " bytes instead of " + bytes);
        } catch (NoSuchFileException e) {
            throw new MalformedException(file.getFileName() + " is missing");
        }
    }
}
