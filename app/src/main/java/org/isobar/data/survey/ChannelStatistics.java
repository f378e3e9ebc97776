package org.isobar.data.survey;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.NpyFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * Statistics of each channel over all grid points and time steps of some files; grid points have equal weights, as in
 * the tutorial.
 *
 * @param stored     extents of a frame
 * @param means      mean of each channel
 * @param deviations standard deviation of each channel
 * @param least      smallest value of each channel
 * @param greatest   largest value of each channel
 * @param timeMeans  mean over time of each point, (channel, latitude, longitude)
 */
public record ChannelStatistics(CropWindow stored, double[] means, double[] deviations, double[] least,
                                double[] greatest, double[] timeMeans) {
    /**
     * Writes the statistics as float32, in the tutorial's shapes: {@code global_means.npy}, {@code global_stds.npy},
     * {@code mins.npy} and {@code maxs.npy} of (1, C, 1, 1), and {@code time_means.npy} of (1, C, H, W).
     *
     * @param option the command-line option that selects another directory, for messages
     * @throws org.isobar.fault.UserException if one cannot be written
     */
    public void write(Path directory, String option) {
        files().forEach((name, values) -> {
            Shape shape = values == timeMeans ? Shape.of(1, stored.channels(), stored.height(), stored.width())
                : Shape.of(1, stored.channels(), 1, 1);
            new NpyFile(DType.F32, shape, values).write(directory.resolve(name), option);
        });
    }

    /** The files that {@link #write} writes. */
    public static List<String> fileNames() {
        return List.of("global_means.npy", "global_stds.npy", "mins.npy", "maxs.npy", "time_means.npy");
    }

    private Map<String, double[]> files() {
        List<double[]> values = List.of(means, deviations, least, greatest, timeMeans);
        Map<String, double[]> files = new LinkedHashMap<>();
        IntStream.range(0, values.size()).forEach(i -> files.put(fileNames().get(i), values.get(i)));
        return files;
    }
}
