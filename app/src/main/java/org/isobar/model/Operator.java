package org.isobar.model;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An ONNX operator with its attributes. Attributes that are left out have the defaults of ONNX.
 *
 * @param type     its name, such as {@code Gemm}
 * @param integers attributes that are an integer, by name
 * @param lists    attributes that are a list of integers, by name
 * @param reals    attributes that are a floating-point number, by name
 */
public record Operator(String type, Map<String, Long> integers, Map<String, List<Long>> lists,
    Map<String, Float> reals) {

    /** An operator without attributes. */
    public static Operator of(String type) {
        return new Operator(type, Map.of(), Map.of(), Map.of());
    }

    /** This operator with an attribute that is an integer. */
    public Operator integer(String name, long value) {
        return new Operator(type, with(integers, name, value), lists, reals);
    }

    /** This operator with an attribute that is a list of integers. */
    public Operator list(String name, Long... values) {
        return new Operator(type, integers, with(lists, name, List.of(values)), reals);
    }

    /** This operator with an attribute that is a floating-point number. */
    public Operator real(String name, double value) {
        return new Operator(type, integers, lists, with(reals, name, (float) value));
    }

    private static <T> Map<String, T> with(Map<String, T> attributes, String name, T value) {
        Map<String, T> more = new LinkedHashMap<>(attributes);
        more.put(name, value);
        return more;
    }
}
