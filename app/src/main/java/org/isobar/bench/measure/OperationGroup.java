package org.isobar.bench.measure;

/**
 * All operations of one kind in a training step.
 *
 * @param name    which operation
 * @param phase   in which part of the step
 * @param calls   how often
 * @param flops   floating-point operations of matrix products and attention in all calls, from shapes
 * @param bytes   of tensors that all calls read and write, once each
 * @param seconds of all calls; null where nothing is measured
 */
public record OperationGroup(String name, StepOperation.Phase phase, int calls, double flops, double bytes,
    Double seconds) {
}
