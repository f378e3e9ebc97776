package org.isobar.bench.report;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.bench.measure.Spread;
import org.isobar.report.RunHistory;

/**
 * A finished run of a scaling study.
 *
 * @param axis             axis along which it has several ranks: dp, tp or cp; empty for the run of one rank
 * @param ranks            number of ranks
 * @param globalBatch      samples of a step
 * @param samplesPerSecond median of the epochs, without the first if there are several
 * @param planned          planned bytes of rank 0
 * @param resident         largest memory of rank 0 in bytes: of the process on a CPU, of the device on a GPU
 * @param epochs           its epochs; epoch 0 has the initial weights
 */
public record ScalingRun(String axis, int ranks, int globalBatch, double samplesPerSecond, double planned,
    double resident, List<Epoch> epochs) {
    private static final double MILLIS = 1e3;

    /**
     * An epoch.
     *
     * @param samples   samples that were trained by its end
     * @param seconds   seconds of training by its end, without validation
     * @param trainLoss mean loss of its steps
     * @param validLoss loss of its validation
     */
    public record Epoch(double samples, double seconds, double trainLoss, double validLoss) { }

    /**
     * Reads a run's metrics.
     *
     * @param axis  dp, tp or cp; empty for the run of one rank
     * @throws org.isobar.fault.UserException if the directory has no metrics of a run
     */
    public static ScalingRun read(Path directory, String axis) {
        RunHistory history = RunHistory.read(directory);
        JsonNode run = history.lines("run").getFirst();
        int batch = run.path("training").path("global_batch_size").asInt();
        List<Epoch> epochs = new ArrayList<>();
        List<Double> speeds = new ArrayList<>();
        double seconds = 0;
        double memory = 0;
        for (JsonNode line : history.lines("epoch")) {
            seconds += line.path("seconds").asDouble();
            memory = Math.max(memory, line.path("memory_bytes").asDouble());
            epochs.add(new Epoch(line.path("step").asDouble() * batch, seconds,
                line.path("train_loss").asDouble(Double.NaN), line.path("valid_loss").asDouble(Double.NaN)));
            if (line.path("samples_per_second").isNumber()) { // not if no step of the epoch was trained
                speeds.add(line.path("samples_per_second").asDouble());
            }
        }
        List<Double> counted = speeds.size() > 1 ? speeds.subList(1, speeds.size()) : speeds;
        return new ScalingRun(axis, run.path("layout").path("ranks").asInt(), batch, counted.isEmpty() ? Double.NaN
            : Spread.of(counted.stream().mapToDouble(Double::doubleValue).toArray()).median(),
            StreamSupport.stream(run.path("memory_planned").spliterator(), false).mapToDouble(JsonNode::asDouble).sum(),
            memory, epochs);
    }

    /** Axis and ranks, as {@code dp 4}. */
    String name() {
        return axis.isEmpty() ? "1 rank" : axis + " " + ranks;
    }

    /** Milliseconds of a step. */
    double stepMillis() {
        return MILLIS * globalBatch / samplesPerSecond;
    }

    /** Samples per second relative to another run's. */
    double speedup(ScalingRun one) {
        return samplesPerSecond / one.samplesPerSecond;
    }

    /** The speed-up over one rank divided by the number of ranks. */
    double efficiency(ScalingRun one) {
        return speedup(one) / ranks * one.ranks;
    }
}
