package org.isobar.nn;

import java.util.List;
import java.util.Set;

import org.isobar.distributed.Axis;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * A learned tensor with its gradient: the values that the optimizer moves, in single precision, and these as products
 * read them. Several weights of the PyTorch {@code state_dict} may lie in it one behind the other along the outermost
 * dimension, so that one product serves them all; they keep their own names as parts.
 */
public final class Parameter {
    private final List<Part> parts;
    private final Shape shape;
    private final Set<Axis> reduceOver;
    private Tensor value;
    private Tensor compute;
    private Tensor gradient;

    /**
     * One weight as PyTorch's {@code state_dict} knows it.
     *
     * @param name        "blocks.0.attn.q.weight", say
     * @param shape       its shape there, over all ranks
     * @param shard       what this rank holds of it
     * @param initializer how it starts
     */
    public record Part(String name, Shape shape, Shard shard, Initializer initializer) {
        /** The shape of what this rank holds. */
        public Shape local() {
            return shard.local(shape);
        }
    }

    Parameter(Shape shape, List<Part> parts, Set<Axis> reduceOver) {
        this.shape = shape;
        this.parts = List.copyOf(parts);
        this.reduceOver = Set.copyOf(reduceOver);
        long elements = parts.stream().mapToLong(part -> part.local().elements()).sum();
        assert elements == shape.elements() : parts + " do not make up " + shape;
    }

    void bind(Tensor boundValue, Tensor boundCompute, Tensor boundGradient) {
        value = boundValue;
        compute = boundCompute;
        gradient = boundGradient;
    }

    /** The weights that lie in this parameter, in order. */
    public List<Part> parts() {
        return parts;
    }

    /** Axes over which its gradient must still be reduced when backward has completed it here. */
    public Set<Axis> reduceOver() {
        return reduceOver;
    }

    /** Shape under which this rank's operations see it. */
    public Shape shape() {
        return shape;
    }

    /** The learned values, F32: what the optimizer moves, norms and positions read, and files hold. */
    public Tensor value() {
        return value;
    }

    /** The same rounded to the type that products are computed in; {@link #value} itself where that is F32. */
    public Tensor compute() {
        return compute;
    }

    /** Their gradient, F32, added to by each backward pass. */
    public Tensor gradient() {
        return gradient;
    }
}
