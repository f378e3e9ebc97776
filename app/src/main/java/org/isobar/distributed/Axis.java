package org.isobar.distributed;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

import org.isobar.fault.UserException;

/** An axis of the process grid: one way to divide the work of training a model among ranks. */
public enum Axis {
    /** Tensor parallel: each rank holds a slice of every large weight. */
    TP("tensor model-parallel"),
    /** Context parallel: each rank holds a part of the tokens of every sample. */
    CP("context-parallel"),
    /** Data parallel: each rank trains on different samples. */
    DP("data_parallel"),
    /** Pipeline parallel: each rank holds some of the layers. */
    PP("pipeline model-parallel");

    private final String description;

    Axis(String description) {
        this.description = description;
    }

    /** The name that Megatron-LM gives to the groups along this axis. */
    public String description() {
        return description;
    }

    /** The short name: {@code tp}, {@code cp}, {@code dp} or {@code pp}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The axis with the short name {@code name}, in upper or lower case.
     *
     * @param order the whole parallel order, for the error message
     * @throws UserException if no axis has this name
     */
    static Axis parse(String name, String order) {
        String wanted = name.strip().toUpperCase(Locale.ROOT);
        for (Axis axis : values()) {
            if (axis.name().equals(wanted)) {
                return axis;
            }
        }
        throw new UserException("parallel order '" + order + "' names an unknown axis '" + name + "'."
            + hint(wanted) + " The axes are " + Arrays.stream(values()).map(Axis::toString)
            .collect(Collectors.joining(", "))
                + ", joined by '-', the fastest-varying one first, for example tp-cp-dp");
    }

    /** Suggests the axis whose name is {@code wanted} reversed or begins with the same letter, if there is one. */
    private static String hint(String wanted) {
        String reversed = new StringBuilder(wanted).reverse().toString();
        return Arrays.stream(values())
            .filter(axis -> axis.name().equals(reversed)
                || !wanted.isEmpty() && axis.name().charAt(0) == wanted.charAt(0))
            .findFirst().map(axis -> " Did you mean '" + axis + "'?").orElse("");
    }
}
