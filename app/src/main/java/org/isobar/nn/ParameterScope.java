package org.isobar.nn;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

import org.isobar.distributed.Axis;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;

/**
 * A node in the module tree: prefixes the names of the parameters declared there and holds the parallel layout.
 *
 * @param store      receives the declarations
 * @param prefix     for example "blocks.0.attn."; empty at the root
 * @param layout     this rank's position in model parallelism
 * @param reduceOver axes over which gradients of parameters declared here are reduced
 */
public record ParameterScope(ParameterStore store, String prefix, Layout layout, Set<Axis> reduceOver) {
    /** The root of the tree, where every rank of a model has all tokens: gradients are averaged over dp only. */
    public static ParameterScope root(ParameterStore store, Layout layout) {
        return new ParameterScope(store, "", layout, EnumSet.of(Axis.DP));
    }

    /** The child called {@code name}. */
    public ParameterScope child(String name) {
        return new ParameterScope(store, prefix + name + ".", layout, reduceOver);
    }

    /** This node for layers that see only this rank's tokens: gradients are also summed over cp. */
    public ParameterScope onSequenceShard() {
        return new ParameterScope(store, prefix, layout, EnumSet.of(Axis.DP, Axis.CP));
    }

    /** The full name of this module, for example "blocks.0.attn"; empty at the root. */
    public String module() {
        return prefix.isEmpty() ? prefix : prefix.substring(0, prefix.length() - 1);
    }

    /** The full name of the parameter or module {@code leaf} in this node. */
    public String name(String leaf) {
        return prefix + leaf;
    }

    /** Declares one weight named {@code leaf} of the given unsharded shape, sharded by {@code shard}. */
    public Parameter declare(String leaf, Initializer initializer, Shard shard, long... extents) {
        return stack(List.of(leaf), initializer, shard, extents);
    }

    /** Declares several weights of one shape as one parameter, concatenated along the outermost dimension. */
    public Parameter stack(List<String> leaves, Initializer initializer, Shard shard, long... extents) {
        Shape each = Shape.of(extents);
        long[] local = shard.local(each).extents();
        local[0] *= leaves.size();
        return store.declare(Shape.of(local),
            leaves.stream().map(leaf -> new Parameter.Part(name(leaf), each, shard, initializer)).toList(),
            reduceOver);
    }

    /**
     * Declares one unsharded weight whose shape in operations ({@code seen}) differs from its {@code state_dict} shape.
     */
    public Parameter declareAs(Shape seen, String leaf, Initializer initializer, long... extents) {
        return store.declare(seen,
            List.of(new Parameter.Part(name(leaf), Shape.of(extents), Shard.whole(), initializer)), reduceOver);
    }
}
