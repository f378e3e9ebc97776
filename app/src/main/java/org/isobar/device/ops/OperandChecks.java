package org.isobar.device.ops;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * The arguments of one call of an operation, checked one by one as they are named; {@link #check} then compares where
 * they lie. A violation is a mistake of the program, hence an {@link IllegalArgumentException} that names operation,
 * argument, what was expected and what was found.
 */
final class OperandChecks {
    private final String operation;
    private final List<Argument> outputs = new ArrayList<>();
    private final List<Argument> inputs = new ArrayList<>();

    /** @param inPlace the input that this output may be the very same elements as, or null */
    private record Argument(String name, Tensor tensor, String inPlace) { }

    OperandChecks(String operation) {
        this.operation = operation;
    }

    /** An F32 tensor that is written. */
    OperandChecks output(String name, Tensor tensor, Extents expected) {
        return output(name, tensor, DType.F32, expected);
    }

    /** A tensor that is written. */
    OperandChecks output(String name, Tensor tensor, DType dtype, Extents expected) {
        require(name, tensor, dtype, expected);
        outputs.add(new Argument(name, tensor, null));
        return this;
    }

    /** An F32 tensor that is written, and that may be the very same elements as the input named {@code input}. */
    OperandChecks outputInPlace(String name, Tensor tensor, Extents expected, String input) {
        return outputInPlace(name, tensor, DType.F32, expected, input);
    }

    /** A tensor that is written, and that may be the very same elements as the input named {@code input}. */
    OperandChecks outputInPlace(String name, Tensor tensor, DType dtype, Extents expected, String input) {
        require(name, tensor, dtype, expected);
        outputs.add(new Argument(name, tensor, input));
        return this;
    }

    /** An F32 tensor that is only read. */
    OperandChecks input(String name, Tensor tensor, Extents expected) {
        return input(name, tensor, DType.F32, expected);
    }

    /** A tensor that is only read. */
    OperandChecks input(String name, Tensor tensor, DType dtype, Extents expected) {
        require(name, tensor, dtype, expected);
        inputs.add(new Argument(name, tensor, null));
        return this;
    }

    /** A mask over {@code extents}: it must say for each dimension how it lies in the global one. */
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

    /** Anything else that must hold of an argument. */
    OperandChecks require(boolean holds, String name, String expected, Object found) {
        if (!holds) {
            throw new IllegalArgumentException(operation + ": argument '" + name + "': expected " + expected
                + ", found " + found);
        }
        return this;
    }

    /** Outputs share no byte with each other, nor with inputs but where it was allowed. */
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
        require(!output.tensor.overlaps(other.tensor), output.name, "memory apart from '" + other.name + "'",
            "bytes " + range(output.tensor) + " and " + range(other.tensor) + " of one storage");
    }

    private static String range(Tensor tensor) {
        return "[" + tensor.offset() + ", " + (tensor.offset() + tensor.bytes()) + ")";
    }

    private void require(String name, Tensor tensor, DType dtype, Extents expected) {
        require(tensor.dtype() == dtype && expected.matches(tensor.shape()), name, dtype + " " + expected,
            tensor.dtype() + " " + tensor.shape());
    }

    /** What the shape of an argument must be. */
    sealed interface Extents {
        /** Whether {@code shape} is such a shape. */
        boolean matches(Shape shape);

        /** Exactly these extents. */
        static Extents exactly(long... extents) {
            return new Exactly(Shape.of(extents));
        }

        /** The shape of {@code tensor}. */
        static Extents like(Tensor tensor) {
            return new Exactly(tensor.shape());
        }

        /** {@code rows} rows of {@code width}, the rows in any number of dimensions. */
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
