package org.isobar.nn;

import java.util.List;
import java.util.Set;

import org.isobar.distributed.Axis;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * A learned tensor: F32 master values, a copy of them in the compute type, and the gradient. It may hold several
 * weights of the PyTorch {@code state_dict}, concatenated along the outermost dimension so that one matrix product
 * covers them all. Each weight keeps its own name as a part.
 */
public final class Parameter {
    private final List<Part> parts;
    private final Shape shape;
    private final Set<Axis> reduceOver;
    private Tensor value;
    private Tensor compute;
    private Tensor gradient;

    /**
     * One weight of PyTorch's {@code state_dict}.
     *
     * @param name        "blocks.0.attn.q.weight", say
     * @param shape       its unsharded shape
     * @param shard       the shard that this rank holds
     * @param initializer its initial values
     */
    public record Part(String name, Shape shape, Shard shard, Initializer initializer) {
        /** The shape of this rank's shard. */
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

    /** The weights that this parameter holds, in order. */
    public List<Part> parts() {
        return parts;
    }

    /** The axes over which its gradient must be reduced after this rank has completed it in backward. */
    public Set<Axis> reduceOver() {
        return reduceOver;
    }

    /** The shape that this rank's operations use. */
    public Shape shape() {
        return shape;
    }

    /** The master values, F32: updated by the optimizer, read by norms and positions, stored in files. */
    public Tensor value() {
        return value;
    }

    /** The values rounded to the compute type, read by matrix products; {@link #value} itself if that type is F32. */
    public Tensor compute() {
        return compute;
    }

    /** The gradient, F32, to which each backward pass adds; null for a model that is not trained. */
    public Tensor gradient() {
        return gradient;
    }
}
