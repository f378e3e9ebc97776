package org.isobar.data.zarr;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.data.zarr.ArrayMetadata.ChunkEncoding;
import org.isobar.data.zarr.ArrayMetadata.ChunkKeys;
import org.isobar.data.zarr.ElementTypes.Element;
import org.isobar.fault.UserException;

/** Parses the metadata of an array in Zarr's version 3. Specification: zarr-specs, core specification version 3. */
final class Version3 {
    private final Path file;
    private final String name;
    private final JsonNode array;
    private int[] dimOrder;
    private ByteOrder byteOrder = ByteOrder.LITTLE_ENDIAN;

    private Version3(Path file, String name, JsonNode array) {
        this.file = file;
        this.name = name;
        this.array = array;
    }

    /**
     * Metadata of an array; empty if its elements are not numbers.
     *
     * @param file  where the metadata are
     * @param array the object that describes the array
     * @throws UserException if they contradict themselves or lack something
     */
    static Optional<ArrayMetadata> parse(Path file, String name, JsonNode array) {
        return ElementTypes.version3(array.path("data_type"), ByteOrder.LITTLE_ENDIAN).isEmpty() ? Optional.empty()
            : Optional.of(new Version3(file, name, array).parse());
    }

    private ArrayMetadata parse() {
        JsonNode grid = array.path("chunk_grid");
        if (!grid.path("name").asText().equals("regular")) {
            throw Json.damaged(file, "'" + name + "' has the chunk grid " + grid.path("name")
                + ", and only regular ones can be read");
        }
        ZarrShape shape = ZarrShape.of(file, name, array.path("shape"), grid.path("configuration").path("chunk_shape"));
        int rank = shape.shape().length;
        dimOrder = IntStream.range(0, rank).toArray();
        ChunkEncoding encoding = encoding(shape);
        Element element = ElementTypes.version3(array.path("data_type"), byteOrder).orElseThrow();
        byte[] fill;
        try {
            fill = ElementTypes.fill(array.path("fill_value"), element);
        } catch (IllegalArgumentException unusable) {
            throw Json.damaged(file, "'" + name + "' has the fill_value " + array.path("fill_value") + ", and "
                + unusable.getMessage());
        }
        Map<String, Object> attributes = Json.attributes(array.path("attributes"));
        attributes.computeIfPresent("_FillValue", (_, value) -> marker(value));
        return new ArrayMetadata(name, ZarrShape.names(file, name, array.path("dimension_names"), rank), shape.shape(),
            shape.chunk(), element.type(), byteOrder, dimOrder, fill, keys(), encoding,
            Json.withUnits(attributes, element));
    }

    /** The value that marks missing data. xarray writes floating-point ones as the base64 of a double. */
    private static Object marker(Object value) {
        if (value instanceof String text) {
            try {
                byte[] bytes = Base64.getDecoder().decode(text);
                if (bytes.length == Double.BYTES) {
                    return new double[] {ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getDouble()};
                }
            } catch (IllegalArgumentException other) {
                return text; // not base64
            }
        }
        return value;
    }

    private ChunkKeys keys() {
        JsonNode encoding = array.path("chunk_key_encoding");
        JsonNode separator = encoding.path("configuration").path("separator");
        if (!separator.isMissingNode() && !separator.asText().equals("/") && !separator.asText().equals(".")) {
            throw Json.damaged(file, "'" + name + "' has the separator " + separator);
        }
        return switch (encoding.path("name").asText()) {
            case "default" -> new ChunkKeys("c" + separator.asText("/"), separator.asText("/"), "c");
            case "v2" -> new ChunkKeys("", separator.asText("."), "0");
            default -> throw Json.damaged(file, "'" + name + "' has the chunk_key_encoding " + encoding
                + ", which is not known");
        };
    }

    private ChunkEncoding encoding(ZarrShape shape) {
        JsonNode codecs = array.path("codecs");
        String first = codecs.path(0).path("name").asText();
        return first.equals("sharding_indexed") ? sharded(shape, codecs)
            : chain(codecs, null, shape.shape().length);
    }

    /** Files that have several chunks each, with their offsets. */
    private ChunkEncoding sharded(ZarrShape shape, JsonNode codecs) {
        JsonNode settings = codecs.path(0).path("configuration");
        int[] inner = Json.extents(settings.path("chunk_shape"));
        boolean divides = inner != null && inner.length == shape.chunk().length && IntStream.range(0, inner.length)
            .allMatch(d -> inner[d] > 0 && shape.chunk()[d] % inner[d] == 0);
        if (!divides) {
            throw Json.damaged(file, "'" + name + "' has shards of " + Arrays.toString(shape.chunk())
                + " with chunks of " + settings.path("chunk_shape"));
        }
        List<String> index = new ArrayList<>();
        settings.path("index_codecs").forEach(codec -> index.add(codec.path("name").asText()));
        ChunkEncoding chain = chain(settings.path("codecs"), inner, inner.length);
        boolean isKnown = codecs.size() == 1 && (index.equals(List.of("bytes"))
            || index.equals(List.of("bytes", "crc32c")));
        return new ChunkEncoding(chain.codecs(), inner, !settings.path("index_location").asText().equals("start"),
            index.size() > 1, isKnown ? chain.refusal() : "the codecs around or of the index of its "
            + "shards are not known. " + CodecNames.ADVICE, "shards of " + chain.label());
    }

    /** The codecs of a chunk: the order of dimensions, bytes, and compressors. */
    private ChunkEncoding chain(JsonNode list, int[] inner, int rank) {
        List<ByteCodec> codecs = new ArrayList<>();
        List<String> labels = new ArrayList<>();
        String refusal = null;
        for (JsonNode codec : list) {
            String codecName = codec.isTextual() ? codec.asText() : codec.path("name").asText();
            JsonNode settings = codec.path("configuration");
            if (codecName.equals("bytes")) {
                byteOrder = settings.path("endian").asText().equals("big") ? ByteOrder.BIG_ENDIAN
                    : ByteOrder.LITTLE_ENDIAN;
            } else if (codecName.equals("transpose")) {
                transpose(settings.path("order"), rank);
            } else {
                labels.add(CodecNames.label(codecName, settings));
                Optional<ByteCodec> known = CodecNames.of(codecName, settings);
                known.ifPresent(added -> codecs.add(0, added));
                refusal = known.isPresent() || refusal != null ? refusal : CodecNames.refusal(codecName);
            }
        }
        return new ChunkEncoding(codecs, inner, false, false, CodecNames.refusal(refusal, codecs),
            String.join(", ", labels));
    }

    /** Orders dimensions as a codec says, of dimensions that earlier ones have ordered. */
    private void transpose(JsonNode order, int rank) {
        int[] dims = Json.extents(order);
        int[] all = IntStream.range(0, rank).toArray();
        if (dims == null || !Arrays.equals(Arrays.stream(dims).sorted().toArray(), all)) {
            throw Json.damaged(file, "'" + name + "' is transposed by " + order);
        }
        int[] before = dimOrder;
        dimOrder = Arrays.stream(dims).map(d -> before[d]).toArray();
    }
}
