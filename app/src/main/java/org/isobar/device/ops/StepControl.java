package org.isobar.device.ops;

import org.isobar.tensor.Tensor;

/**
 * Seven numbers in device memory that steer the optimizer, so that a recorded step needs nothing from the host:
 * <ol start="0">
 * <li>learning rate of this step, set by the host
 * <li>t: steps that have moved the weights; Adam reads it after {@link TensorOps#advance}, from 1
 * <li>overflow: not 0 if this step moves nothing; set by {@link TensorOps#unscale} if a gradient is not finite, by
 * {@link TensorOps#advance} if the loss is not; cleared by the optimizer before each step
 * <li>loss scale, 1 where losses are not scaled
 * <li>steps without overflow since the scale last moved
 * <li>steps skipped because of an overflow
 * <li>halt: {@link #ARMED} to halt at the first loss that is not finite, {@link #HALTED} from there on,
 * {@link #NEVER_HALTS} to skip that step as if a gradient had overflowed
 * </ol>
 * {@link TensorOps#advance} turns to the next step. A loss that is not finite counts as an overflow. On overflow,
 * {@code scale *= backoff}, the row of good steps is over, and one more step is skipped; else {@code t} and the row
 * grow by one, and where the row is as long as the interval, {@code scale *= growth} and the row begins again. The flag
 * stays for Adam to read.
 *
 * <p>An armed control that meets a loss that is not finite halts, and then no step moves anything any more: flag,
 * learning rate and halt aside, the numbers, like the weights, stay those before that step, whatever was issued after
 * it.
 *
 * @param values (7), F64
 */
public record StepControl(Tensor values) {
    /** Numbers of a control. */
    public static final int SIZE = 7;
    /** Place of the learning rate. */
    public static final int LEARNING_RATE = 0;
    /** Place of the count of steps taken. */
    public static final int COUNT = 1;
    /** Place of the overflow flag. */
    public static final int OVERFLOW = 2;
    /** Place of the loss scale. */
    public static final int SCALE = 3;
    /** Place of the count of good steps in a row. */
    public static final int GOOD_STEPS = 4;
    /** Place of the count of steps skipped. */
    public static final int SKIPPED = 5;
    /** Place of what becomes of a loss that is not finite. */
    public static final int HALT = 6;
    /** Halts at the first loss that is not finite. */
    public static final double ARMED = 0;
    /** Has met one. */
    public static final double HALTED = 1;
    /** Skips such steps, and goes on. */
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
