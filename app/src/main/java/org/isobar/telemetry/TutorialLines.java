package org.isobar.telemetry;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.fault.PlainText;

/**
 * Formats every line of the tutorial's log, without time and level. Scripts that parse the tutorial's log also parse
 * these lines.
 */
public final class TutorialLines {
    private static final double GIB = 1L << 30;

    private TutorialLines() { }

    /** The configuration block: file, name, and one line for each key, in the order of the map. */
    public static List<String> configuration(String file, String name, Map<String, ?> values) {
        List<String> lines = new ArrayList<>();
        lines.add("------------------ Configuration ------------------");
        lines.add("Configuration file: " + file);
        lines.add("Configuration name: " + name);
        values.forEach((key, value) -> lines.add(key + " " + PythonFormat.str(value)));
        lines.add("---------------------------------------------------");
        return lines;
    }

    /** The process grid: sizes of data, tensor, context and pipeline parallelism. */
    public static String grid(int dp, int tp, int cp, int pp) {
        return "Setting DP = " + dp + ", TP = " + tp + ", CP = " + cp + ", PP = " + pp;
    }

    /** Logged before the data loaders are created. */
    public static String loaderBegins(int rank) {
        return "rank " + rank + ", begin data loader init";
    }

    /** Logged after the data loaders are created. */
    public static String loaderReady(int rank) {
        return "rank " + rank + ", data loader initialized";
    }

    /** The first file of the data set, whose name may contain anything. */
    public static String fileStats(Path firstFile) {
        return "Getting file stats from " + PlainText.of(firstFile.toString());
    }

    /** Number of time steps of the first file. */
    public static String samplesPerYear(int samples) {
        return "Number of samples per year: " + samples;
    }

    /** Size of the data set, after cropping to the configured image. */
    public static String dataFound(String location, int examples, int height, int width, int channels) {
        return "Found data at path " + location + ". Number of examples: " + examples
            + ". Image Shape: " + height + " x " + width + " x " + channels;
    }

    /** The data set is limited to {@code limit_nsamples}. */
    public static String samplesLimited(int samples) {
        return "Overriding total number of samples to: " + samples;
    }

    /** Memory in use before the first step. */
    public static String scaffoldingMemory(long bytes) {
        return "Scaffolding memory high watermark: " + gigabytes(bytes) + " GB.";
    }

    /** Memory in use after a forward pass. */
    public static String forwardMemory(long bytes) {
        return " Memory usage after forward pass: " + gigabytes(bytes) + " GB.";
    }

    /** Logged before the first epoch. */
    public static String trainingStarts() {
        return "Starting Training Loop...";
    }

    /** Speed of an epoch; epochs count from 1. */
    public static String epochTime(int epoch, double seconds, double samplesPerSecond) {
        return "Time taken for epoch " + epoch + " is " + PythonFormat.fixed(seconds) + " sec, avg "
            + PythonFormat.fixed(samplesPerSecond) + " samples/sec";
    }

    /** Mean training loss of an epoch. */
    public static String trainLoss(double loss) {
        return "  Avg train loss=" + PythonFormat.fixed(loss);
    }

    /** Mean validation loss. In the tutorial it is a single-precision number, printed as Python prints its double. */
    public static String validationLoss(float loss) {
        return "  Avg val loss=" + PythonFormat.repr((double) loss);
    }

    /** Duration of a validation. */
    public static String validationTime(double seconds) {
        return "  Total validation time: " + PythonFormat.repr(seconds) + " sec";
    }

    /** The last line of a completed run. */
    public static String done(int rank) {
        return "DONE ---- rank " + rank;
    }

    /** Bytes / 1024^3, as Python prints the quotient. */
    public static String gigabytes(long bytes) {
        return PythonFormat.repr(bytes / GIB);
    }
}
