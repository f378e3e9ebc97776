/**
 * Layers with explicit forward and backward passes (no autograd).
 *
 * <p>The caller allocates every output and passes it first. The caller also owns a layer's input and passes it again to
 * backward, saved or recomputed. A layer saves the intermediate results that backward needs in a small private record
 * on the {@link org.isobar.nn.Pass}, which is a stack.
 *
 * <p>Gradients: parameter gradients accumulate, activation gradients overwrite. Methods that can also add to an
 * activation gradient take a {@link org.isobar.device.ops.WriteMode}.
 *
 * <p>Types: learned values, their gradients, the residual stream, the norms' statistics and attention's log-sum-exp are
 * F32. All other activations have the compute type, {@link org.isobar.nn.Pass#compute}. So does the copy of the weights
 * and biases that matrix products read, {@link org.isobar.nn.Parameter#compute}.
 *
 * <p>Shapes: B samples, T tokens, C channels of the residual stream, H heads of D channels.
 */
package org.isobar.nn;
