package org.isobar.exercise.api;

/** Learning rates for another batch size than the one that a rate was found with. */
public interface LearningRateRules {
    /** The rate for {@code newBatch} samples by the linear rule, given the {@code rate} for {@code batch} samples. */
    double linear(double rate, int batch, int newBatch);

    /** The rate for {@code newBatch} samples by the square-root rule. */
    double squareRoot(double rate, int batch, int newBatch);

    /**
     * The rate of a step: half a cosine from {@code peak} down to 0 over {@code steps}, but during the warm-up no more
     * than a line that reaches {@code peak} with its last step.
     *
     * @param step   steps that are done, from 0
     * @param warmup steps of the warm-up; 0 for none
     * @param steps  steps of the whole run
     */
    double atStep(double peak, int step, int warmup, int steps);
}
