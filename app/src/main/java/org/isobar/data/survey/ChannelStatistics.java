package org.isobar.data.survey;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5File;
import org.isobar.data.NpyFile;
import org.isobar.fault.UserException;
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
    /** Values that a thread reads at a time: small enough to stay in its cache. */
    private static final int BLOCK = 16 << 10;
    /** Bytes of the frames that are read together, so that the disk reads long runs. */
    private static final long GROUP_BYTES = 64L << 20;
    private static final int MOST_ELEMENTS = 1 << 28;

    /**
     * Computes the statistics on all cores. Reads each value once; memory is that of the sums of one frame in double
     * precision, whatever the number of frames. The result does not depend on the number of threads.
     *
     * @throws UserException if a file cannot be read or holds a number that is not finite, or a frame is too large
     */
    public static ChannelStatistics of(YearFiles years, ScanObserver observer) {
        CropWindow stored = years.stored();
        if (stored.elements() > MOST_ELEMENTS) {
            throw new UserException("Frames of " + stored + " values are too large: statistics of at most "
                + MOST_ELEMENTS + " values a frame are computed. Split the channels.");
        }
        double[] sums = new double[Math.toIntExact(stored.elements())];
        List<Block> blocks = blocks(years);
        ScanObserver.Counter progress = new ScanObserver.Counter(observer, years.frames() * stored.bytes());
        int group = Math.clamp(GROUP_BYTES / stored.bytes(), 1, Integer.MAX_VALUE);
        for (Era5File file : years.files()) {
            for (int first = 0; first < file.times(); first += group) {
                int start = first;
                int end = (int) Math.min(file.times(), (long) first + group);
                IntStream.range(end, (int) Math.min(file.times(), (long) end + group))
                    .forEach(time -> file.willNeed(time, stored));
                blocks.parallelStream().forEach(block -> block.add(years, file, start, end, sums));
                progress.add((end - start) * stored.bytes());
            }
        }
        long frames = years.frames();
        for (int i = 0; i < sums.length; i++) {
            sums[i] /= frames;
        }
        return of(stored, blocks, sums);
    }

    private static ChannelStatistics of(CropWindow stored, List<Block> blocks, double[] timeMeans) {
        Moments[] channels = IntStream.range(0, stored.channels()).mapToObj(c -> new Moments())
            .toArray(Moments[]::new);
        blocks.forEach(block -> channels[block.firstRow / stored.height()].add(block.moments));
        List<Moments> all = List.of(channels);
        return new ChannelStatistics(stored, all.stream().mapToDouble(Moments::mean).toArray(),
            all.stream().mapToDouble(Moments::deviation).toArray(), all.stream().mapToDouble(Moments::least).toArray(),
            all.stream().mapToDouble(Moments::greatest).toArray(), timeMeans);
    }

    /** The rows of all channels, cut into blocks of one channel each. */
    private static List<Block> blocks(YearFiles years) {
        CropWindow stored = years.stored();
        int blockRows = Math.min(stored.height(), Math.max(Math.max(1, BLOCK / stored.width()), years.rowsOfChunk()));
        List<Block> blocks = new ArrayList<>();
        for (int c = 0; c < stored.channels(); c++) {
            for (int j = 0; j < stored.height(); j += blockRows) {
                blocks.add(new Block(c * stored.height() + j, Math.min(blockRows, stored.height() - j), new Moments()));
            }
        }
        return blocks;
    }

    /**
     * Writes the statistics as float32, in the tutorial's shapes: {@code global_means.npy}, {@code global_stds.npy},
     * {@code mins.npy} and {@code maxs.npy} of (1, C, 1, 1), and {@code time_means.npy} of (1, C, H, W).
     *
     * @param option the command-line option that selects another directory, for messages
     * @throws UserException if one cannot be written
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

    /** Rows of one channel, counted over all channels, and the moments of their values. */
    private record Block(int firstRow, int rows, Moments moments) {
        void add(YearFiles years, Era5File file, int start, int end, double[] sums) {
            int width = years.stored().width();
            float[] values = new float[rows * width];
            for (int time = start; time < end; time++) {
                file.readRows(time, firstRow, rows, MemorySegment.ofArray(values), 0);
                if (!moments.add(values, values.length)) {
                    years.requireFinite(file, time, firstRow, rows);
                }
                addTo(sums, firstRow * width, values);
            }
        }

        private static void addTo(double[] sums, int first, float[] values) {
            for (int i = 0; i < values.length; i++) {
                sums[first + i] += values[i];
            }
        }
    }
}
