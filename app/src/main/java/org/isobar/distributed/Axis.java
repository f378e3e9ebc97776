package org.isobar.distributed;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

import org.isobar.fault.UserException;

/** A dimension of the process grid: one way to share out the work of training a model. */
public enum Axis {
    /** Tensor parallel: each rank holds a slice of every large weight. */
    TP("tensor model-parallel"),
    /** Context parallel: each rank holds a part of every sequence. */
    CP("context-parallel"),
    /** Data parallel: each rank sees other samples. */
    DP("data_parallel"),
    /** Pipeline parallel: each rank holds some of the layers. */
    PP("pipeline model-parallel");

    private final String description;

    Axis(String description) {
        this.description = description;
    }

    /** What the groups along this axis are called in Megatron-LM. */
    public String description() {
        return description;
    }

    /** The short name: {@code tp}, {@code cp}, {@code dp} or {@code pp}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The axis of that short name, in any case. */
    static Axis parse(String name, String order) {
        String wanted = name.strip().toUpperCase(Locale.ROOT);
        for (Axis axis : values()) {
            if (axis.name().equals(wanted)) {
                return axis;
            }
        }
        throw new UserException("parallel order '" + order + "' names an axis '" + name + "' that is not there."
            + hint(wanted) + " The axes are " + Arrays.stream(values()).map(Axis::toString)
            .collect(Collectors.joining(", ")) + ", joined by '-', the one that varies fastest first: tp-cp-dp");
    }

    /** The one axis made of the same letters, or else sharing the first, if there is one. */
    private static String hint(String wanted) {
        String reversed = new StringBuilder(wanted).reverse().toString();
        return Arrays.stream(values())
            .filter(axis -> axis.name().equals(reversed)
                || !wanted.isEmpty() && axis.name().charAt(0) == wanted.charAt(0))
            .findFirst().map(axis -> " Did you mean '" + axis + "'?").orElse("");
    }
}
