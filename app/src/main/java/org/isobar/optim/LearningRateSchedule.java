package org.isobar.optim;

/** The learning rate as a function of the iterations completed. */
public sealed interface LearningRateSchedule {

    /** The learning rate of the next step after {@code iteration} completed steps. */
    double at(long iteration);

    /** A constant learning rate. */
    record Constant(double rate) implements LearningRateSchedule {
        @Override
        public double at(long iteration) {
            return rate;
        }
    }

    /**
     * Half a cosine from {@code rate} to 0 over {@code iterations} (Loshchilov and Hutter, 2017, without restarts);
     * with warm-up, the minimum of that and a linear ramp that reaches {@code rate} at step {@code warmup}.
     *
     * @param rate       peak learning rate
     * @param iterations length of the whole run
     * @param warmup     steps of the linear ramp; 0 for none
     */
    record Cosine(double rate, long iterations, long warmup) implements LearningRateSchedule {
        @Override
        public double at(long iteration) {
            double cosine = 0.5 * (1 + Math.cos(Math.PI * iteration / iterations));
            return rate * (warmup > 0 ? Math.min((iteration + 1.0) / warmup, cosine) : cosine);
        }
    }
}
