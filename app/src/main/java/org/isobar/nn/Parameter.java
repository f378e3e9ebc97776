package org.isobar.nn;

import java.util.List;

import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * A learned tensor with its gradient. Several weights of the PyTorch {@code state_dict} may lie in it one behind the
 * other along the outermost dimension, so that one product serves them all; they keep their own names as parts.
 */
public final class Parameter {
    private final List<Part> parts;
    private final Shape shape;
    private Tensor value;
    private Tensor gradient;

    /**
     * One weight as PyTorch's {@code state_dict} knows it.
     *
     * @param name        "blocks.0.attn.q.weight", say
     * @param shape       its shape there
     * @param initializer how it starts
     */
    public record Part(String name, Shape shape, Initializer initializer) { }

    Parameter(Shape shape, List<Part> parts) {
        this.shape = shape;
        this.parts = List.copyOf(parts);
        long elements = parts.stream().mapToLong(part -> part.shape().elements()).sum();
        assert elements == shape.elements() : parts + " do not make up " + shape;
    }

    void bind(Tensor boundValue, Tensor boundGradient) {
        value = boundValue;
        gradient = boundGradient;
    }

    /** The weights that lie in this parameter, in order. */
    public List<Part> parts() {
        return parts;
    }

    /** Shape under which operations see it. */
    public Shape shape() {
        return shape;
    }

    /** The learned values. */
    public Tensor value() {
        return value;
    }

    /** Their gradient, added to by each backward pass. */
    public Tensor gradient() {
        return gradient;
    }
}
