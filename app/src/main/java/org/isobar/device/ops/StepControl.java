package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * Seven numbers in device memory that control the optimizer, so that a captured step needs no input from the host:
 * <ol start="0">
 * <li>learning rate of this step, set by the host
 * <li>t: steps that have updated the weights; Adam reads it after {@link UpdateOps#advance}, so it counts from 1
 * <li>overflow: not 0 if this step updates nothing; set by {@link UpdateOps#unscale} if a gradient is not finite, by
 * {@link UpdateOps#advance} if the loss is not; cleared by the optimizer before each step
 * <li>loss scale, 1 if losses are not scaled
 * <li>steps without overflow since the scale last changed
 * <li>steps skipped because of an overflow
 * <li>halt: {@link #ARMED} to halt at the first loss that is not finite, {@link #HALTED} after that,
 * {@link #NEVER_HALTS} to skip that step as if a gradient had overflowed
 * </ol>
 * {@link UpdateOps#advance} updates these numbers once per step. A loss that is not finite counts as an overflow. On
 * overflow, {@code scale *= backoff}, the count of good steps becomes 0 and the count of skipped steps grows by one.
 * Otherwise {@code t} and the count of good steps grow by one; when the latter reaches the interval,
 * {@code scale *= growth} and the count becomes 0. The overflow flag remains set for Adam to read.
 *
 * <p>An armed control halts at the first loss that is not finite. After that no step updates anything. The weights and
 * all numbers except the flag, the learning rate and halt keep their values from before that step, including for steps
 * that had already been issued after it.
 *
 * @param values (7), F64
 */
public record StepControl(Tensor values) {
    /** Number of elements of a control. */
    public static final int SIZE = 7;
    /** Index of the learning rate. */
    public static final int LEARNING_RATE = 0;
    /** Index of the count of steps taken. */
    public static final int COUNT = 1;
    /** Index of the overflow flag. */
    public static final int OVERFLOW = 2;
    /** Index of the loss scale. */
    public static final int SCALE = 3;
    /** Index of the count of consecutive good steps. */
    public static final int GOOD_STEPS = 4;
    /** Index of the count of steps skipped. */
    public static final int SKIPPED = 5;
    /** Index of the halt state. */
    public static final int HALT = 6;
    /** Halt state: halts at the first loss that is not finite. */
    public static final double ARMED = 0;
    /** Halt state: has halted at a loss that was not finite. */
    public static final double HALTED = 1;
    /** Halt state: skips steps whose loss is not finite and continues. */
    public static final double NEVER_HALTS = -1;

    /** The learning rate, (1). */
    public Tensor learningRate() {
        return values.slice(LEARNING_RATE, 1);
    }

    /** The overflow flag, (1). */
    public Tensor overflow() {
        return values.slice(OVERFLOW, 1);
    }

    /** The loss scale, (1). */
    public Tensor scale() {
        return values.slice(SCALE, 1);
    }
}
