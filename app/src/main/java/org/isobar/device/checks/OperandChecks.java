package org.isobar.device.checks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * Checks the arguments of one call of an operation. Type and shape of each argument are checked when it is added;
 * {@link #check} then checks that their memory does not overlap. A violation is a bug in the caller and throws an
 * {@link IllegalArgumentException} that names the operation, the argument, and the expected and actual values.
 */
final class OperandChecks {
    /** The types that products can be computed in: "compute type" in the contract. */
    static final Set<DType> COMPUTE = Collections.unmodifiableSet(EnumSet.of(DType.F32, DType.F16, DType.BF16));

    private final String operation;
    private final List<Argument> outputs = new ArrayList<>();
    private final List<Argument> inputs = new ArrayList<>();

    /** @param inPlace the input whose memory this output may be (an in-place operation), or null */
    private record Argument(String name, Tensor tensor, String inPlace) { }

    OperandChecks(String operation) {
        this.operation = operation;
    }

    /** Creates checks of an operation on images (B, C, H, W), of which {@code tensor} is one. */
    static OperandChecks ofImages(String operation, String name, Tensor tensor) {
        return new OperandChecks(operation).require(tensor.shape().rank() == 4, name, "four dimensions",
            tensor.shape());
    }

    /** A tensor of type {@code dtype} that is written. */
    OperandChecks output(String name, Tensor tensor, DType dtype, Extents expected) {
        return output(name, tensor, EnumSet.of(dtype), expected);
    }

    /** A tensor of one of {@code types} that is written. */
    OperandChecks output(String name, Tensor tensor, Set<DType> types, Extents expected) {
        return outputInPlace(name, tensor, types, expected, null);
    }

    /** A tensor of type {@code dtype} that is written and may be the same elements as the input {@code input}. */
    OperandChecks outputInPlace(String name, Tensor tensor, DType dtype, Extents expected, String input) {
        return outputInPlace(name, tensor, EnumSet.of(dtype), expected, input);
    }

    /** A tensor of one of {@code types} that is written and may be the same elements as the input {@code input}. */
    OperandChecks outputInPlace(String name, Tensor tensor, Set<DType> types, Extents expected, String input) {
        require(name, tensor, types, expected);
        outputs.add(new Argument(name, tensor, input));
        return this;
    }

    /** A tensor of type {@code dtype} that is only read. */
    OperandChecks input(String name, Tensor tensor, DType dtype, Extents expected) {
        return input(name, tensor, EnumSet.of(dtype), expected);
    }

    /** A tensor of one of {@code types} that is only read. */
    OperandChecks input(String name, Tensor tensor, Set<DType> types, Extents expected) {
        require(name, tensor, types, expected);
        inputs.add(new Argument(name, tensor, null));
        return this;
    }

    /** A mask over {@code extents}; it must have one span per dimension, which must contain the local extent. */
    OperandChecks mask(String name, Dropout dropout, long... extents) {
        if (dropout.isNone()) {
            return this;
        }
        List<IndexSpan> spans = dropout.spans();
        boolean fits = spans.size() == extents.length;
        for (int dim = 0; fits && dim < extents.length; dim++) {
            IndexSpan span = spans.get(dim);
            long last = span.start() + (extents[dim] - 1) * span.step();
            fits = span.start() >= 0 && span.step() > 0 && last < span.extent();
        }
        return require(fits, name, "spans that hold " + Arrays.toString(extents), spans);
    }

    /** Any other condition on an argument. */
    OperandChecks require(boolean holds, String name, String expected, Object found) {
        if (!holds) {
            throw new IllegalArgumentException(operation + ": argument '" + name + "': expected " + expected
                + ", found " + found);
        }
        return this;
    }

    /** Checks that outputs share no byte with each other, and none with inputs except for in-place arguments. */
    void check() {
        for (int i = 0; i < outputs.size(); i++) {
            Argument output = outputs.get(i);
            for (Argument other : outputs.subList(i + 1, outputs.size())) {
                requireApart(output, other);
            }
            for (Argument input : inputs) {
                boolean same = input.name.equals(output.inPlace) && input.tensor.aliases(output.tensor);
                if (!same) {
                    requireApart(output, input);
                }
            }
        }
    }

    private void requireApart(Argument output, Argument other) {
        if (output.tensor.overlaps(other.tensor)) {
            require(false, output.name, "memory apart from '" + other.name + "'",
                "bytes " + range(output.tensor) + " and " + range(other.tensor) + " of one storage");
        }
    }

    private static String range(Tensor tensor) {
        return "[" + tensor.offset() + ", " + (tensor.offset() + tensor.bytes()) + ")";
    }

    private void require(String name, Tensor tensor, Set<DType> types, Extents expected) {
        boolean typed = types.contains(tensor.dtype());
        if (!typed || !expected.matches(tensor.shape())) {
            String type = typed ? tensor.dtype().toString()
                : types.stream().map(DType::toString).collect(Collectors.joining(" or "));
            require(false, name, type + " " + expected, tensor.dtype() + " " + tensor.shape());
        }
    }

    /** The required shape of an argument. */
    sealed interface Extents {
        /** Whether {@code shape} satisfies the requirement. */
        boolean matches(Shape shape);

        /** Exactly these extents. */
        static Extents exactly(long... extents) {
            return new Exactly(Shape.of(extents));
        }

        /** The shape of {@code tensor}. */
        static Extents like(Tensor tensor) {
            return new Exactly(tensor.shape());
        }

        /** {@code rows} rows of {@code width} elements; the rows may span any number of dimensions. */
        static Extents rows(long rows, long width) {
            return new Rows(rows, width);
        }

        /** {@code elements} elements in any number of dimensions. */
        static Extents flat(long elements) {
            return new Flat(elements);
        }
    }

    private record Exactly(Shape shape) implements Extents {
        @Override
        public boolean matches(Shape other) {
            return shape.equals(other);
        }

        @Override
        public String toString() {
            return shape.toString();
        }
    }

    private record Rows(long rows, long width) implements Extents {
        @Override
        public boolean matches(Shape shape) {
            return shape.rank() > 0 && shape.rows() == rows && shape.extent(-1) == width;
        }

        @Override
        public String toString() {
            return rows + " rows of " + width;
        }
    }

    private record Flat(long elements) implements Extents {
        @Override
        public boolean matches(Shape shape) {
            return shape.elements() == elements;
        }

        @Override
        public String toString() {
            return elements + " elements";
        }
    }
}
