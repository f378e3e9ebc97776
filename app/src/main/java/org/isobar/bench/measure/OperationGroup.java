package org.isobar.bench.measure;

/**
 * All operations of the same name and phase in a training step.
 *
 * @param name    name of the operation
 * @param phase   phase of the step
 * @param calls   number of calls
 * @param flops   floating-point operations of matrix products and attention in all calls, computed from shapes
 * @param bytes   bytes of the tensors that all calls read and write, each counted once per call
 * @param seconds time of all calls; null if not measured
 */
public record OperationGroup(String name, StepOperation.Phase phase, int calls, double flops, double bytes,
    Double seconds) {
}
