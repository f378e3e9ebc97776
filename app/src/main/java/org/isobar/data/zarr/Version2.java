package org.isobar.data.zarr;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.data.zarr.ArrayMetadata.ChunkEncoding;
import org.isobar.data.zarr.ArrayMetadata.ChunkKeys;
import org.isobar.data.zarr.ElementTypes.Element;
import org.isobar.fault.UserException;

/**
 * Parses the metadata of an array in Zarr's version 2, and xarray's names of dimensions. Specifications: zarr-specs,
 * storage specification version 2; "Zarr encoding specification" of xarray's documentation.
 */
final class Version2 {
    private final Path file;
    private final JsonNode array;

    /**
     * @param file  where the metadata are, for messages
     * @param array contents of {@code .zarray}
     */
    private Version2(Path file, JsonNode array) {
        this.file = file;
        this.array = array;
    }

    /**
     * Metadata of an array; empty if its elements are not numbers.
     *
     * @param file       where the metadata are
     * @param array      contents of {@code .zarray}
     * @param attributes contents of {@code .zattrs}; may be missing
     * @throws UserException if they contradict themselves or lack something
     */
    static Optional<ArrayMetadata> parse(Path file, String name, JsonNode array, JsonNode attributes) {
        Optional<Element> element = array.path("dtype").isTextual()
            ? ElementTypes.version2(array.path("dtype").asText()) : Optional.empty();
        return element.map(type -> new Version2(file, array).parse(name, type, attributes));
    }

    private ArrayMetadata parse(String name, Element element, JsonNode attributes) {
        ZarrShape shape = ZarrShape.of(file, name, array.path("shape"), array.path("chunks"));
        String separator = array.path("dimension_separator").asText(".");
        if (!separator.equals(".") && !separator.equals("/")) {
            throw Json.damaged(file, "'" + name + "' has the dimension_separator '" + separator + "'");
        }
        String order = array.path("order").asText("C");
        if (!order.equals("C") && !order.equals("F")) {
            throw Json.damaged(file, "'" + name + "' has the order '" + order + "'");
        }
        int rank = shape.shape().length;
        int[] dims = IntStream.range(0, rank).map(d -> order.equals("C") ? d : rank - 1 - d).toArray();
        Map<String, Object> values = Json.attributes(attributes);
        byte[] fill = fill(name, element, values);
        return new ArrayMetadata(name, ZarrShape.names(file, name, attributes.path("_ARRAY_DIMENSIONS"), rank),
            shape.shape(), shape.chunk(), element.type(), element.order(), dims, fill,
            new ChunkKeys("", separator, "0"), encoding(), Json.withUnits(values, element));
    }

    private byte[] fill(String name, Element element, Map<String, Object> attributes) {
        JsonNode value = array.path("fill_value");
        if (value.isNull() || value.isMissingNode()) {
            return null;
        }
        try {
            byte[] fill = ElementTypes.fill(value, element);
            double number = value.isBoolean() ? 0 : value.asText().equals("NaN") ? Double.NaN : value.asDouble();
            if (number != 0) { // xarray's way to store _FillValue; zero is what others write without a meaning
                attributes.putIfAbsent("_FillValue", new double[] {number});
            }
            return fill;
        } catch (IllegalArgumentException unusable) {
            throw Json.damaged(file, "'" + name + "' has the fill_value " + value + ", and " + unusable.getMessage());
        }
    }

    private ChunkEncoding encoding() {
        List<ByteCodec> codecs = new ArrayList<>();
        List<String> labels = new ArrayList<>();
        String refusal = null;
        List<JsonNode> settings = new ArrayList<>();
        settings.add(array.path("compressor"));
        array.path("filters").forEach(filter -> settings.add(1, filter)); // decoded in reverse
        for (JsonNode codec : settings) {
            if (codec.isObject()) {
                String name = codec.path("id").asText();
                labels.add(CodecNames.label(name, codec));
                Optional<ByteCodec> known = CodecNames.of(name, codec);
                known.ifPresent(codecs::add);
                refusal = known.isPresent() || refusal != null ? refusal : CodecNames.refusal(name);
            }
        }
        return new ChunkEncoding(codecs, null, false, false, CodecNames.refusal(refusal, codecs),
            String.join(", ", labels));
    }
}
