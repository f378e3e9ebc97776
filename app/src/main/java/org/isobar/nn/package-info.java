/**
 * Layers with a forward and a backward pass, written out.
 *
 * <p>The caller provides every output, first in the argument list, and so decides where it lives. The caller also owns
 * a layer's input and hands it back in backward, kept or recomputed. What a layer itself makes and needs again it
 * keeps in a small private record on the {@link org.isobar.nn.Pass}, which is a stack.
 *
 * <p>The gradient rule: parameter gradients add, activation gradients overwrite. (Where an activation gradient is to be
 * added, the method says so by a {@link org.isobar.device.Write}.)
 *
 * <p>Types: learned values, their gradients, the residual stream, the norms' statistics and attention's log-sum-exp are
 * in single precision. All else is of the type that products are computed in, {@link org.isobar.nn.Pass#compute}, and
 * so is the copy of the weights and biases that products read, {@link org.isobar.nn.Parameter#compute}.
 *
 * <p>Shapes: B samples, T tokens, C channels of the residual stream, H heads of D channels.
 */
package org.isobar.nn;
