package org.isobar.train;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

import org.isobar.device.HostBuffer;

/**
 * The fields that roll-outs start from and are scored against. Roll-outs from some consecutive starts run together, as
 * one batch; a batch that is not full repeats its first start.
 */
interface RollOutFields extends AutoCloseable {

    /** Opens fields. */
    interface Source {
        /**
         * Opens the fields of roll-outs; empty if there are none of that length, or the model does not forecast all
         * variables that it reads.
         *
         * @param steps of each roll-out
         * @param most  number of starts, at most
         * @throws org.isobar.fault.UserException if the data cannot be read
         */
        Optional<RollOutFields> open(int steps, int most);
    }

    /**
     * Area-weighted RMSE in normalized units; NaN where a value is not finite.
     *
     * @param starts      number of forecasts
     * @param model       (steps, Cout)
     * @param persistence (steps, Cout)
     */
    record Scores(int starts, double[][] model, double[][] persistence) { }

    /** Number of starts. */
    int starts();

    /** Begins the roll-outs of {@code count} starts from {@code first} on: reads their initial fields. */
    void begin(int first, int count);

    /** Writes the input of a step, from 1, whose fields are the forecasts of the step before or the initial ones. */
    void write(HostBuffer images, int step);

    /** Receives the forecasts of a step, (B, Cout, H, W) in single precision. */
    MemorySegment forecasts();

    /** Adds the errors of the forecasts of a step. */
    void score(int step);

    /** The scores of all roll-outs. */
    Scores scores();

    @Override
    void close();
}
