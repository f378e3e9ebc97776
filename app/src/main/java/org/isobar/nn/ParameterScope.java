package org.isobar.nn;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

import org.isobar.distributed.Axis;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;

/**
 * A place in the tree of layers: prefixes the names of what is declared there, and knows how the model is cut.
 *
 * @param store      takes the declarations
 * @param prefix     "blocks.0.attn.", say; empty at the root
 * @param layout     this rank's place in the cuts
 * @param reduceOver axes over which gradients of what is declared here are reduced
 */
public record ParameterScope(ParameterStore store, String prefix, Layout layout, Set<Axis> reduceOver) {
    /** The root of the tree, where every rank of a model sees all tokens: gradients are averaged over dp alone. */
    public static ParameterScope root(ParameterStore store, Layout layout) {
        return new ParameterScope(store, "", layout, EnumSet.of(Axis.DP));
    }

    /** The child called {@code name}. */
    public ParameterScope child(String name) {
        return new ParameterScope(store, prefix + name + ".", layout, reduceOver);
    }

    /** The same place for layers that see this rank's tokens alone: gradients are summed over cp too. */
    public ParameterScope onSequenceShard() {
        return new ParameterScope(store, prefix, layout, EnumSet.of(Axis.DP, Axis.CP));
    }

    /** The full name of the module here, "blocks.0.attn", say; empty at the root. */
    public String module() {
        return prefix.isEmpty() ? prefix : prefix.substring(0, prefix.length() - 1);
    }

    /** The full name of {@code leaf} here. */
    public String name(String leaf) {
        return prefix + leaf;
    }

    /** One weight named {@code leaf}, of the given shape over all ranks, cut by {@code shard}. */
    public Parameter declare(String leaf, Initializer initializer, Shard shard, long... extents) {
        return stack(List.of(leaf), initializer, shard, extents);
    }

    /** Several weights of the same shape, one behind the other along the outermost dimension. */
    public Parameter stack(List<String> leaves, Initializer initializer, Shard shard, long... extents) {
        Shape each = Shape.of(extents);
        long[] local = shard.local(each).extents();
        local[0] *= leaves.size();
        return store.declare(Shape.of(local),
            leaves.stream().map(leaf -> new Parameter.Part(name(leaf), each, shard, initializer)).toList(),
            reduceOver);
    }

    /** One weight that operations see under another shape than the {@code state_dict}; not cut. */
    public Parameter declareAs(Shape seen, String leaf, Initializer initializer, long... extents) {
        return store.declare(seen,
            List.of(new Parameter.Part(name(leaf), Shape.of(extents), Shard.whole(), initializer)), reduceOver);
    }
}
