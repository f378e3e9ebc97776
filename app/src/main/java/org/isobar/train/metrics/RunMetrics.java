package org.isobar.train.metrics;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

import org.isobar.optim.Adam;
import org.isobar.telemetry.MetricsFile;
import org.isobar.telemetry.PythonFormat;
import org.isobar.train.step.PhaseClock;
import org.isobar.train.step.PhaseClock.Phase;
import org.isobar.train.step.ValidationScores;

/**
 * Writes the metrics of a run to its {@link MetricsFile}; {@code docs/metrics.md} describes the lines. Several steps
 * share a line, so that an epoch has at most {@link #LINES_PER_EPOCH}. A checkpoint ends such a line: the lines of a
 * run that resumes are those of one that was never interrupted.
 */
public final class RunMetrics implements AutoCloseable {
    /** Version of the format: it changes when a field changes its meaning, not when one is added. */
    public static final int FORMAT = 1;
    private static final int LINES_PER_EPOCH = 100;

    private final Optional<MetricsFile> file;
    private final PhaseClock clock;
    private final Scale scale;
    private final int interval;
    private PhaseClock.Reading epochBegan;
    private PhaseClock.Reading written;
    private PhaseClock.Reading done; // at the end of the last step that was read
    private final Map<Long, PhaseClock.Reading> ends = new HashMap<>(); // of steps that are not yet read
    private int steps; // since the last line
    private int counted; // of these, those whose loss is finite
    private double losses; // their sum
    private int epoch;
    private Map<String, Object> trained; // fields of the epoch's line that are known before validation

    /**
     * Size of a run.
     *
     * @param globalBatchSize samples of a step
     * @param stepsPerEpoch   steps of an epoch
     * @param epochs          epochs of the run
     */
    public record Scale(int globalBatchSize, long stepsPerEpoch, int epochs) { }

    /**
     * A training step whose loss was read.
     *
     * @param number       number of the step in the run, from 1
     * @param epoch        its epoch, from 1
     * @param loss         its loss
     * @param learningRate its learning rate
     */
    public record Step(long number, int epoch, double loss, double learningRate) { }

    /**
     * The steps of an epoch that this process has trained.
     *
     * @param number       number of the epoch, from 1
     * @param loss         mean loss of all its steps
     * @param steps        number of steps that this process has trained
     * @param seconds      their wall-clock time
     * @param learningRate at its end
     * @param optimizer    counts of steps
     * @param memory       high watermark of the device's memory in bytes
     */
    public record Epoch(int number, double loss, int steps, double seconds, double learningRate,
        Adam.Progress optimizer, long memory) { }

    /**
     * Creates the metrics of a rank.
     *
     * @param file  on rank 0; other ranks write nothing
     * @param clock the phases of the steps
     */
    public RunMetrics(Optional<MetricsFile> file, PhaseClock clock, Scale scale) {
        this.file = file;
        this.clock = clock;
        this.scale = scale;
        interval = Math.toIntExact(Math.ceilDiv(scale.stepsPerEpoch, LINES_PER_EPOCH));
        written = clock.read();
        epochBegan = written;
        done = written;
    }

    /** Metrics that are not written. */
    public static RunMetrics none() {
        return new RunMetrics(Optional.empty(), new PhaseClock(), new Scale(1, 1, 1));
    }

    /** Writes that this process begins or continues the run after {@code step} steps. */
    public void runBegins(long step, Map<String, Object> description) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("format", FORMAT);
        values.putAll(description);
        values.put("training", fields("global_batch_size", scale.globalBatchSize, "steps_per_epoch",
            scale.stepsPerEpoch, "epochs", scale.epochs, "step_interval", interval));
        line("run", step, values);
    }

    /** The steps of an epoch begin. */
    public void epochBegins() {
        epochBegan = clock.read();
        written = epochBegan;
    }

    /**
     * Marks the end of step {@code number} of the run, on a device that has completed a step when it is issued. Without
     * this call, a step ends when its loss is read.
     */
    public void stepEnds(long number) {
        ends.put(number, clock.read());
    }

    /** Counts a step whose loss is finite, and writes a line if its interval ends. */
    public void stepRead(Step step) {
        counted++;
        losses += step.loss;
        count(step);
    }

    /** Writes that the loss of a step is not finite, so that it is skipped or ends the run. */
    public void badStep(Step step) {
        line("bad_step", step.number, fields("epoch", step.epoch, "loss", PythonFormat.repr(step.loss)));
        count(step);
    }

    private void count(Step step) {
        steps++;
        epoch = step.epoch;
        PhaseClock.Reading end = ends.remove(step.number);
        done = end == null ? clock.read() : end;
        if (step.number % interval == 0 || step.number % scale.stepsPerEpoch == 0) {
            writeSteps(step.number, step.learningRate);
        }
    }

    private void writeSteps(long number, Double learningRate) {
        Map<Phase, Double> phases = done.since(written);
        double seconds = phases.values().stream().mapToDouble(Double::doubleValue).sum();
        line("step", number, fields("epoch", epoch, "steps", steps, "loss", counted == 0 ? null : losses / counted,
            "learning_rate", learningRate, "seconds", rounded(seconds),
            "samples_per_second", rounded(speed(steps, seconds)), "phases", seconds(phases)));
        written = done;
        steps = 0;
        counted = 0;
        losses = 0;
    }

    /**
     * Writes that a checkpoint is saved after {@code step} steps, all of whose losses were read.
     *
     * @param learningRate of the last step
     */
    public void checkpoint(long step, double learningRate) {
        if (steps > 0) {
            writeSteps(step, learningRate);
        }
        line(MetricsFile.CHECKPOINT, step, Map.of());
    }

    /** Writes the scores of the initial weights, on one batch of each data set. */
    public void scoredBeforeTraining(double trainLoss, double validationLoss, Map<String, Double> rmse) {
        line("epoch", 0, fields("epoch", 0, "train_loss", finite(trainLoss), "valid_loss", finite(validationLoss),
            "rmse", finite(rmse)));
    }

    /** Takes the training of an epoch; {@link #validated} writes it. */
    public void epochTrained(Epoch end) {
        trained = fields("epoch", end.number, "train_loss", finite(end.loss), "steps", end.steps,
            "seconds", rounded(end.seconds), "samples_per_second", rounded(speed(end.steps, end.seconds)),
            "learning_rate", end.learningRate, "phases", seconds(clock.read().since(epochBegan)),
            "steps_taken", end.optimizer.taken(), "steps_skipped", end.optimizer.skipped(),
            "loss_scale", end.optimizer.scale(), "memory_bytes", end.memory);
    }

    /** Writes an epoch, whose validation has ended. */
    public void validated(long step, ValidationScores scores, double seconds, Map<String, Double> rmse) {
        Map<String, Object> values = new LinkedHashMap<>(trained);
        values.putAll(fields("valid_loss", finite(scores.loss()), "valid_seconds", rounded(seconds), "rmse",
            finite(rmse)));
        line("epoch", step, values);
    }

    /** Writes the scores of roll-outs: RMSE by lead time in hours and variable. */
    public void rolledOut(long step, Map<Integer, Map<String, Double>> rmse) {
        Map<Integer, Map<String, Double>> scores = new LinkedHashMap<>();
        rmse.forEach((hours, variables) -> scores.put(hours, finite(variables)));
        line("rollout", step, fields("rmse", scores));
    }

    /** Writes how this process ends. */
    public void runEnds(long step, String outcome) {
        line("end", step, fields("outcome", outcome));
    }

    private void line(String kind, long step, Map<String, Object> values) {
        file.ifPresent(open -> open.line(kind, step, values));
    }

    /** Samples per second; NaN without a step. */
    private double speed(int count, double seconds) {
        return count == 0 ? Double.NaN : (double) count * scale.globalBatchSize / seconds;
    }

    private static Map<String, Object> seconds(Map<Phase, Double> phases) {
        Map<String, Object> named = new LinkedHashMap<>();
        phases.forEach((phase, seconds) -> named.put(phase.name().toLowerCase(Locale.ROOT), rounded(seconds)));
        return named;
    }

    /** To microseconds; null if it is not finite. */
    private static Double rounded(double value) {
        return Double.isFinite(value) ? Math.round(value * 1e6) / 1e6 : null;
    }

    private static Double finite(double value) {
        return Double.isFinite(value) ? value : null;
    }

    private static Map<String, Double> finite(Map<String, Double> values) {
        Map<String, Double> finite = new LinkedHashMap<>();
        values.forEach((name, value) -> finite.put(name, finite(value)));
        return finite;
    }

    /** A map of names and values in turn, in that order. */
    static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            fields.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return fields;
    }

    @Override
    public void close() {
        file.ifPresent(MetricsFile::close);
    }
}
