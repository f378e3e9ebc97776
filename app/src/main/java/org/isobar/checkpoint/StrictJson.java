package org.isobar.checkpoint;

import java.util.LinkedHashMap;
import java.util.Map;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;

/**
 * Jackson, set to refuse whatever this program does not write: duplicate, unknown and missing fields, null
 * elements, numbers as text, fractions for whole numbers, text after the end. The size of what it reads is bounded.
 */
public final class StrictJson {
    /** Largest size of a JSON file of a checkpoint. A checkpoint of 1000 tensors in 64 slices each has 10 MB. */
    static final int MAX_BYTES = 1 << 26;
    private static final long MAX_TOKENS = 4_000_000;
    private static final int MAX_NESTING = 32;
    private static final int MAX_TEXT = 1_000_000;
    private static final int MAX_NAME = 10_000;
    private static final int MAX_DIGITS = 100;

    private StrictJson() { }

    /** A mapper in which a field of an object may be null. */
    static JsonMapper mapper() {
        StreamReadConstraints bounds = StreamReadConstraints.builder().maxDocumentLength(MAX_BYTES)
            .maxTokenCount(MAX_TOKENS).maxNestingDepth(MAX_NESTING).maxStringLength(MAX_TEXT)
            .maxNameLength(MAX_NAME).maxNumberLength(MAX_DIGITS).build();
        JsonMapper mapper = JsonMapper.builder(JsonFactory.builder().streamReadConstraints(bounds).build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .build();
        mapper.setDefaultSetterInfo(JsonSetter.Value.forContentNulls(Nulls.FAIL));
        return mapper;
    }

    /** A mapper in which no field may be null. */
    public static JsonMapper mapperWithoutNull() {
        JsonMapper mapper = mapper();
        mapper.enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES);
        return mapper;
    }

    /** All values of an object as text, by name. Names of nested objects are joined by dots. */
    static Map<String, String> flat(JsonNode object) {
        Map<String, String> entries = new LinkedHashMap<>();
        flatten("", object, entries);
        return entries;
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
}
