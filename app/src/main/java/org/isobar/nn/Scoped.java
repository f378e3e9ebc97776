package org.isobar.nn;

import java.util.List;

import org.isobar.tensor.Shape;

/**
 * A place in the tree of layers: prefixes the names of what is declared there.
 *
 * @param store  takes the declarations
 * @param prefix "blocks.0.attn.", say; empty at the root
 */
public record Scoped(ParameterStore store, String prefix) {
    /** The root of the tree. */
    public static Scoped root(ParameterStore store) {
        return new Scoped(store, "");
    }

    /** The child called {@code name}. */
    public Scoped child(String name) {
        return new Scoped(store, prefix + name + ".");
    }

    /** The full name of {@code leaf} here. */
    public String name(String leaf) {
        return prefix + leaf;
    }

    /** One weight named {@code leaf}, of the given shape in the {@code state_dict} and for operations alike. */
    public Parameter declare(String leaf, Initializer initializer, long... extents) {
        Shape shape = Shape.of(extents);
        return store.declare(shape, new Parameter.Part(name(leaf), shape, initializer));
    }

    /** Several weights of the same shape, one behind the other along the outermost dimension. */
    public Parameter stack(List<String> leaves, Initializer initializer, long... extents) {
        Shape each = Shape.of(extents);
        long[] whole = extents.clone();
        whole[0] *= leaves.size();
        return store.declare(Shape.of(whole),
            leaves.stream().map(leaf -> new Parameter.Part(name(leaf), each, initializer)).toList());
    }
}
