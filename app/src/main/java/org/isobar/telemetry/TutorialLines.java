package org.isobar.telemetry;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The text of every line of the tutorial's log: numbers in, the line out, without time and level. Who has a script that
 * reads the tutorial's log keeps the script.
 */
public final class TutorialLines {
    private static final double GIB = 1L << 30;

    private TutorialLines() { }

    /** The configuration block: file, name, and one line for each key in the order of the map. */
    public static List<String> configuration(String file, String name, Map<String, ?> values) {
        List<String> lines = new ArrayList<>();
        lines.add("------------------ Configuration ------------------");
        lines.add("Configuration file: " + file);
        lines.add("Configuration name: " + name);
        values.forEach((key, value) -> lines.add(key + " " + PythonFormat.str(value)));
        lines.add("---------------------------------------------------");
        return lines;
    }

    /** The process grid: data, tensor, context and pipeline parallelism. */
    public static String grid(int dp, int tp, int cp, int pp) {
        return "Setting DP = " + dp + ", TP = " + tp + ", CP = " + cp + ", PP = " + pp;
    }

    /** Before the data loaders are made. */
    public static String loaderBegins(int rank) {
        return "rank " + rank + ", begin data loader init";
    }

    /** After the data loaders are made. */
    public static String loaderReady(int rank) {
        return "rank " + rank + ", data loader initialized";
    }

    /** The file that tells how long a year is. */
    public static String fileStats(Path firstFile) {
        return "Getting file stats from " + firstFile;
    }

    /** The time length of the first file, used for all. */
    public static String samplesPerYear(int samples) {
        return "Number of samples per year: " + samples;
    }

    /** What the data set holds, after cropping to the configured image. */
    public static String dataFound(String location, int examples, int height, int width, int channels) {
        return "Found data at path " + location + ". Number of examples: " + examples
            + ". Image Shape: " + height + " x " + width + " x " + channels;
    }

    /** The data set is cut to {@code limit_nsamples}. */
    public static String samplesLimited(int samples) {
        return "Overriding total number of samples to: " + samples;
    }

    /** Memory held before the first step. */
    public static String scaffoldingMemory(long bytes) {
        return "Scaffolding memory high watermark: " + gigabytes(bytes) + " GB.";
    }

    /** Memory held after a forward pass. */
    public static String forwardMemory(long bytes) {
        return " Memory usage after forward pass: " + gigabytes(bytes) + " GB.";
    }

    /** Before the first epoch. */
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

    /** Mean validation loss. The tutorial's is a single-precision number, and prints that number's every digit. */
    public static String validationLoss(float loss) {
        return "  Avg val loss=" + PythonFormat.repr((double) loss);
    }

    /** Duration of a validation. */
    public static String validationTime(double seconds) {
        return "  Total validation time: " + PythonFormat.repr(seconds) + " sec";
    }

    /** The last line of a run that came to its end. */
    public static String done(int rank) {
        return "DONE ---- rank " + rank;
    }

    /** Bytes / 1024^3, as Python prints the quotient. */
    public static String gigabytes(long bytes) {
        return PythonFormat.repr(bytes / GIB);
    }
}
