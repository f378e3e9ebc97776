package org.isobar.forecast;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.os.AtomicFile;

/**
 * Writes a group of arrays in Zarr's version 2, with consolidated metadata: a directory with a few JSON files, and a
 * file for each chunk. Chunks are not compressed. Specification: zarr-specs, v2, and xarray's encoding of dimensions.
 */
final class ZarrGroup {
    private static final JsonMapper JSON = new JsonMapper();
    private static final String ORDER = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? "<" : ">";

    private final Path directory;
    private final ObjectNode metadata = JSON.createObjectNode(); // by the path of the file that has it, too

    /** Types of elements, in the byte order of this machine. */
    enum ElementType {
        FLOAT32("f4"), FLOAT64("f8"), INT64("i8");

        private final String code;

        ElementType(String code) {
            this.code = code;
        }
    }

    /**
     * An array of a group.
     *
     * @param name       its name
     * @param type       type of its elements
     * @param dimensions names of its dimensions
     * @param shape      its extents
     * @param chunk      extents of its chunks
     */
    record Variable(String name, ElementType type, List<String> dimensions, List<Long> shape, List<Long> chunk) { }

    /** The group in a directory that exists. */
    ZarrGroup(Path directory) {
        this.directory = directory;
    }

    /** Empty attributes, to fill in. */
    static ObjectNode attributes() {
        return JSON.createObjectNode();
    }

    /** Writes the metadata of the group itself. */
    void describe(ObjectNode attributes) throws IOException {
        write(".zgroup", JSON.createObjectNode().put("zarr_format", 2));
        write(".zattrs", attributes);
    }

    /** Writes the metadata of an array, whose elements are NaN or undefined until their chunks are written. */
    void declare(Variable variable, ObjectNode attributes) throws IOException {
        Files.createDirectories(directory.resolve(variable.name));
        ObjectNode array = JSON.createObjectNode().put("zarr_format", 2);
        array.set("shape", JSON.valueToTree(variable.shape));
        array.set("chunks", JSON.valueToTree(variable.chunk));
        array.put("dtype", ORDER + variable.type.code).put("order", "C").put("dimension_separator", ".");
        array.putNull("compressor").putNull("filters");
        if (variable.type == ElementType.INT64) {
            array.putNull("fill_value");
        } else {
            array.put("fill_value", "NaN");
        }
        write(variable.name + "/.zarray", array);
        ObjectNode all = JSON.createObjectNode();
        all.set("_ARRAY_DIMENSIONS", JSON.valueToTree(variable.dimensions));
        all.setAll(attributes);
        write(variable.name + "/.zattrs", all);
    }

    /** Writes the metadata of everything declared so far into one file. */
    void consolidate() throws IOException {
        ObjectNode all = JSON.createObjectNode().put("zarr_consolidated_format", 1);
        all.set("metadata", metadata);
        writeJson(directory.resolve(".zmetadata"), all);
    }

    private void write(String name, ObjectNode content) throws IOException {
        metadata.set(name, content);
        writeJson(directory.resolve(name), content);
    }

    private static void writeJson(Path file, ObjectNode content) throws IOException {
        byte[] json = JSON.writerWithDefaultPrettyPrinter().writeValueAsBytes(content);
        AtomicFile.replace(file, channel -> AtomicFile.writeFully(channel, ByteBuffer.wrap(json)));
    }

    /** Path of a chunk. */
    Path chunk(String variable, long... index) {
        return directory.resolve(variable)
            .resolve(LongStream.of(index).mapToObj(Long::toString).collect(Collectors.joining(".")));
    }

    /** Writes a chunk: its elements in row-major order, in the byte order of this machine. */
    void write(ByteBuffer elements, String variable, long... index) throws IOException {
        AtomicFile.replace(chunk(variable, index), channel -> AtomicFile.writeFully(channel, elements));
    }
}
