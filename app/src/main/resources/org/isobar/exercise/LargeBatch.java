import org.isobar.exercise.api.LearningRateRules;

/** Learning rates for larger batches: rate was found with batch samples, and now a step has newBatch samples. */
public final class LargeBatch implements LearningRateRules {
    @Override
    public double linear(double rate, int batch, int newBatch) {
        // TODO: the mean of k gradients of the same weights replaces k steps (Goyal et al., 2017).
        return rate;
    }

    @Override
    public double squareRoot(double rate, int batch, int newBatch) {
        // TODO: the noise of the mean gradient falls with the square root of the batch. Presets bs32_opt ... bs2048_opt
        // follow this rule, from bs16_opt.
        return rate;
    }

    @Override
    public double atStep(double peak, int step, int warmup, int steps) {
        double cosine = 0.5 * (1 + Math.cos(Math.PI * step / steps));
        // TODO: in the first warmup steps the rate is no larger than a line: peak / warmup in step 0, peak in step
        // warmup - 1.
        return peak * cosine;
    }
}
