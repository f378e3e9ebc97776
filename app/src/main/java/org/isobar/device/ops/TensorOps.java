package org.isobar.device.ops;

/**
 * The operations of a back end, grouped by family. A back end implements each family in a separate class.
 *
 * <p>Outputs come first. The description of each parameter gives its shape and its type. <em>Compute type</em> means a
 * type that products can be computed in: F32, F16 or BF16, if {@link org.isobar.device.Device#supports} accepts it. A
 * type given as "as x" is the type of operand x. A parameter without a type is F32. Tensors must not overlap unless the
 * operation allows it.
 *
 * <p>Operations take effect in the order in which they are issued. Sums are accumulated in F32 or wider and
 * rounded once, when they are stored. The order of summation depends only on the shapes of the tensors, so the bits of
 * the result do not depend on the number of threads.
 *
 * <p>Gradients of activations overwrite or add, as {@link WriteMode} says; gradients of parameters always add.
 *
 * <p>Operation names are unique across families: benchmarks and the contract tests identify operations by name.
 *
 * @param memory    filling, copying, casting
 * @param products  linear layers
 * @param norms     layer normalization
 * @param attention attention
 * @param images    images and tokens
 * @param residuals the residual stream and dropout
 * @param losses    loss and score
 * @param updates   the optimizer
 */
public record TensorOps(MemoryOps memory, ProductOps products, NormOps norms, AttentionOps attention, ImageOps images,
    ResidualOps residuals, LossOps losses, UpdateOps updates) {

    /** Replaces the implementation of a family, for example by one that observes calls. */
    public interface FamilyWrapper {
        /**
         * Returns the replacement of {@code ops}.
         *
         * @param family the interface of the family
         */
        <T> T wrap(Class<T> family, T ops);
    }

    /** Returns these operations with every family wrapped. */
    public TensorOps wrapped(FamilyWrapper wrapper) {
        return new TensorOps(wrapper.wrap(MemoryOps.class, memory), wrapper.wrap(ProductOps.class, products),
            wrapper.wrap(NormOps.class, norms), wrapper.wrap(AttentionOps.class, attention),
            wrapper.wrap(ImageOps.class, images), wrapper.wrap(ResidualOps.class, residuals),
            wrapper.wrap(LossOps.class, losses), wrapper.wrap(UpdateOps.class, updates));
    }
}
