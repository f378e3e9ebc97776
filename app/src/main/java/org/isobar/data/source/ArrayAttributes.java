package org.isobar.data.source;

import java.util.Map;
import java.util.Optional;

/**
 * The attributes of an array.
 *
 * @param values by name: a {@code String}, or a {@code double[]} of one or more numbers of any type
 */
public record ArrayAttributes(Map<String, Object> values) {
    /** No attributes. */
    public static final ArrayAttributes NONE = new ArrayAttributes(Map.of());

    /** Copies the map. */
    public ArrayAttributes {
        values = Map.copyOf(values);
        assert values.values().stream().allMatch(value -> value instanceof String || value instanceof double[]);
    }

    /** An attribute that is a text; empty if there is none of that name, or it has numbers. */
    public Optional<String> text(String name) {
        return values.get(name) instanceof String text ? Optional.of(text) : Optional.empty();
    }

    /** An attribute that is numbers; empty if there is none of that name, it is a text, or it has no elements. */
    public Optional<double[]> numbers(String name) {
        return values.get(name) instanceof double[] numbers && numbers.length > 0 ? Optional.of(numbers)
            : Optional.empty();
    }

    /** Whether there is an attribute of that name. */
    public boolean has(String name) {
        return values.containsKey(name);
    }
}
