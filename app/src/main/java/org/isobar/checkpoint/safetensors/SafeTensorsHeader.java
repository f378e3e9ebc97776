package org.isobar.checkpoint.safetensors;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.tensor.Shape;

/**
 * The JSON header of a safetensors file: type, shape and data offsets of each tensor. Parsing rejects what the format
 * forbids: gaps between tensors, overlaps, sizes that do not match the shape, duplicate names.
 *
 * @param entries  the tensors by name, in the order of the header
 * @param metadata the text entries of {@code __metadata__}
 */
public record SafeTensorsHeader(Map<String, Entry> entries, Map<String, String> metadata) {
    static final String METADATA = "__metadata__";
    static final String TYPE = "dtype";
    static final String SHAPE = "shape";
    static final String OFFSETS = "data_offsets";

    private static final int MAX_TOKENS = 4_000_000;
    private static final int MAX_NAME = 1000;
    private static final int MAX_RANK = 64; // PyTorch's
    private static final JsonMapper JSON = JsonMapper.builder(JsonFactory.builder().streamReadConstraints(
            StreamReadConstraints.builder().maxTokenCount(MAX_TOKENS).maxNameLength(MAX_NAME).build()).build())
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .build();

    /** A tensor: its bytes are {@code begin} (inclusive) to {@code end} (exclusive), counted from the data's start. */
    public record Entry(String name, SafeTensorsType type, Shape shape, long begin, long end) { }

    /** A violation of the format. The reader adds the name of the file and what to do. */
    public static final class MalformedException extends Exception {
        private static final long serialVersionUID = 1L;
        private static final int MAX_MESSAGE = 500;

        /** Creates an exception; a long message, which quotes the file, is cut. */
        public MalformedException(String message) {
            super(message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE) + "...");
        }
    }

    /**
     * Parses a header.
     *
     * @param dataBytes number of bytes that follow the header in the file
     * @throws MalformedException if the header violates the format
     */
    public static SafeTensorsHeader parse(byte[] json, long dataBytes) throws MalformedException {
        JsonNode root = tree(json);
        Map<String, Entry> entries = new LinkedHashMap<>();
        Map<String, String> metadata = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> field : root.properties()) {
            if (field.getKey().equals(METADATA)) {
                readMetadata(field.getValue(), metadata);
            } else {
                entries.put(field.getKey(), entry(field.getKey(), field.getValue()));
            }
        }
        checkLayout(entries, dataBytes);
        return new SafeTensorsHeader(entries, metadata);
    }

    private static JsonNode tree(byte[] json) throws MalformedException {
        if (json.length == 0 || json[0] != '{') {
            throw new MalformedException("its header does not begin with '{'");
        }
        try {
            return JSON.readTree(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(json)).toString());
        } catch (CharacterCodingException e) {
            throw new MalformedException("its header is not UTF-8");
        } catch (JsonProcessingException e) {
            throw new MalformedException("its header is not valid JSON: " + e.getOriginalMessage());
        }
    }

    private static void readMetadata(JsonNode node, Map<String, String> metadata) throws MalformedException {
        check(node.isObject(), METADATA + " is not an object");
        for (Map.Entry<String, JsonNode> field : node.properties()) {
            check(field.getValue().isTextual(), METADATA + " " + field.getKey() + " is not text");
            metadata.put(field.getKey(), field.getValue().textValue());
        }
    }

    private static Entry entry(String name, JsonNode node) throws MalformedException {
        String what = "tensor " + name;
        check(node.isObject() && node.size() == 3 && node.has(TYPE) && node.has(SHAPE) && node.has(OFFSETS),
            what + " must have exactly the fields " + TYPE + ", " + SHAPE + " and " + OFFSETS);
        SafeTensorsType type = type(what, node.get(TYPE));
        long[] extents = numbers(what, node, SHAPE);
        long[] offsets = numbers(what, node, OFFSETS);
        check(offsets.length == 2 && offsets[0] <= offsets[1], what + ": " + OFFSETS + " is not [begin, end]");
        long size = offsets[1] - offsets[0];
        check(size == bytes(what, type, extents),
            what + ": " + node.get(SHAPE) + " of " + type + " does not match its " + size + " bytes");
        return new Entry(name, type, Shape.of(extents), offsets[0], offsets[1]);
    }

    private static SafeTensorsType type(String what, JsonNode node) throws MalformedException {
        for (SafeTensorsType type : SafeTensorsType.values()) {
            if (type.name().equals(node.textValue())) {
                return type;
            }
        }
        throw new MalformedException(what + " has the unknown type " + node);
    }

    private static long[] numbers(String what, JsonNode tensor, String field) throws MalformedException {
        JsonNode node = tensor.get(field);
        check(node.isArray(), what + ": " + field + " is not an array");
        check(node.size() <= MAX_RANK, what + ": " + field + " has " + node.size() + " numbers");
        long[] numbers = new long[node.size()];
        for (int i = 0; i < numbers.length; i++) {
            JsonNode number = node.get(i);
            check(number.isIntegralNumber() && number.canConvertToLong() && number.longValue() >= 0,
                what + ": " + field + " holds " + number);
            numbers[i] = number.longValue();
        }
        return numbers;
    }

    private static long bytes(String what, SafeTensorsType type, long[] extents) throws MalformedException {
        long bytes = type.bytes();
        for (long extent : extents) {
            check(extent > 0, what + " is empty");
            check(bytes <= Long.MAX_VALUE / extent, what + " is larger than any file");
            bytes *= extent;
        }
        return bytes;
    }

    private static void checkLayout(Map<String, Entry> entries, long dataBytes) throws MalformedException {
        List<Entry> inOrder = entries.values().stream().sorted(Comparator.comparingLong(Entry::begin)).toList();
        long end = 0;
        String previous = "the header";
        for (Entry entry : inOrder) {
            check(entry.begin >= end, "tensor " + entry.name + " overlaps " + previous);
            check(entry.begin == end, "between " + previous + " and tensor " + entry.name + " "
                + (entry.begin - end) + " bytes belong to no tensor");
            end = entry.end;
            previous = "tensor " + entry.name;
        }
        check(end <= dataBytes, "it is truncated: its tensors need " + end + " bytes, and only " + dataBytes
            + " follow the header");
        check(end == dataBytes, (dataBytes - end) + " bytes after " + previous + " belong to no tensor");
    }

    private static void check(boolean condition, String message) throws MalformedException {
        if (!condition) {
            throw new MalformedException(message);
        }
    }
}
