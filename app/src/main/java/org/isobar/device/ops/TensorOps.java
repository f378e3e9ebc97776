package org.isobar.device.ops;

/**
 * The operations that a model is made of, by family. A back end implements each family in a class of its own.
 *
 * <p>Outputs come first. Behind each parameter stand its shape and its type, each operand for itself. <em>Compute
 * type</em> is a type that products can be computed in: F32, F16 or BF16, as far as
 * {@link org.isobar.device.Device#supports} it. A type given as "as x" is that of operand x. A parameter without a type
 * is F32. Tensors do not overlap unless the operation says that they may.
 *
 * <p>Operations take effect in the order in which they are issued. Sums are accumulated in F32 at least and rounded
 * once, when they are stored. The order of a sum depends on the shapes of the tensors alone, so that its bits do not
 * depend on the number of threads.
 *
 * <p>Gradients of activations overwrite or add, as {@link WriteMode} says; gradients of parameters always add.
 *
 * <p>Every operation has a name of its own among all families: benchmarks and the contract call it by that name.
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

    /** Replaces a family by another implementation of it, such as one that observes calls. */
    public interface FamilyWrapper {
        /**
         * What replaces {@code ops}.
         *
         * @param family the interface of the family
         */
        <T> T wrap(Class<T> family, T ops);
    }

    /** These operations with every family wrapped. */
    public TensorOps wrapped(FamilyWrapper wrapper) {
        return new TensorOps(wrapper.wrap(MemoryOps.class, memory), wrapper.wrap(ProductOps.class, products),
            wrapper.wrap(NormOps.class, norms), wrapper.wrap(AttentionOps.class, attention),
            wrapper.wrap(ImageOps.class, images), wrapper.wrap(ResidualOps.class, residuals),
            wrapper.wrap(LossOps.class, losses), wrapper.wrap(UpdateOps.class, updates));
    }
}
