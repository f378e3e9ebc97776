package org.isobar.data.zarr;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.data.source.ArrayAttributes;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/** Reads the JSON files of a store, and values in them. */
final class Json {
    private static final int MOST_BYTES = 64 << 20;
    private static final JsonMapper MAPPER = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build(); // Python writes NaN as it is

    /** An object without members. */
    static final JsonNode EMPTY = MAPPER.createObjectNode();

    private Json() { }

    /**
     * Reads a file.
     *
     * @throws UserException if it cannot be read, is not JSON, or is not an object
     */
    static JsonNode read(Path file) {
        try {
            JsonNode node = MAPPER.readTree(RegularFile.read(file, MOST_BYTES));
            if (!node.isObject()) {
                throw damaged(file, "it is not a JSON object");
            }
            return node;
        } catch (JsonProcessingException malformed) {
            throw new UserException(damaged(file, "it is not valid JSON at line " + (malformed.getLocation() == null
                ? "1" : malformed.getLocation().getLineNr())).getMessage(), malformed);
        } catch (IOException failure) {
            throw FileFault.unreadable("metadata of a Zarr store, " + file, failure);
        }
    }

    /** The message for a file that cannot be used. */
    static UserException damaged(Path file, String finding) {
        return new UserException("Zarr metadata " + file + " cannot be used: " + finding
            + ". Copy or write the store again.");
    }

    /** Whole numbers from 0 to those of an {@code int}; null if there is anything else. */
    static int[] extents(JsonNode list) {
        boolean areExtents = list.isArray() && IntStream.range(0, list.size())
            .allMatch(i -> list.get(i).isIntegralNumber() && list.get(i).canConvertToInt()
                && list.get(i).asInt() >= 0);
        return areExtents ? IntStream.range(0, list.size()).map(i -> list.get(i).asInt()).toArray() : null;
    }

    /** ArrayAttributes that are texts, numbers or lists of numbers. */
    static Map<String, Object> attributes(JsonNode object) {
        Map<String, Object> values = new HashMap<>();
        object.properties().forEach(entry -> {
            JsonNode value = entry.getValue();
            if (value.isTextual()) {
                values.put(entry.getKey(), value.asText());
            } else if (value.isNumber()) {
                values.put(entry.getKey(), new double[] {value.asDouble()});
            } else if (value.isArray() && IntStream.range(0, value.size()).allMatch(i -> value.get(i).isNumber())) {
                values.put(entry.getKey(),
                    IntStream.range(0, value.size()).mapToDouble(i -> value.get(i).asDouble()).toArray());
            }
        });
        return values;
    }

    /** Puts the units of times that say by their type what they count. */
    static ArrayAttributes withUnits(Map<String, Object> attributes, ElementTypes.Element element) {
        if (element.units() != null) {
            attributes.put("units", element.units());
        }
        return new ArrayAttributes(attributes);
    }
}
