package org.isobar.data.survey;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5File;
import org.isobar.fault.UserException;

/**
 * Adds up the statistics of frames. Each value is read once, on all cores; memory is that of the sums of one frame in
 * double precision. The result depends on the order of the frames, and neither on the number of threads nor on how many
 * frames are added at a time. Not thread-safe.
 */
public final class StatisticsScan {
    /** Values that a thread reads at a time: small enough to stay in its cache. */
    private static final int BLOCK = 16 << 10;
    /** Bytes of the frames that are read together, so that the disk reads long runs. */
    private static final long GROUP_BYTES = 64L << 20;
    private static final int MOST_ELEMENTS = 1 << 28;

    private final CropWindow stored;
    private final List<Block> blocks;
    private final double[] sums; // (channel, latitude, longitude)
    private long frames;

    /**
     * Prepares the sums.
     *
     * @param stored      extents of a frame
     * @param rowsOfChunk number of rows that the files decompress together
     * @throws UserException if a frame is too large
     */
    public StatisticsScan(CropWindow stored, int rowsOfChunk) {
        if (stored.elements() > MOST_ELEMENTS) {
            throw new UserException("Frames of " + stored + " values are too large: statistics of at most "
                + MOST_ELEMENTS + " values a frame are computed. Split the channels.");
        }
        this.stored = stored;
        blocks = blocks(stored, Math.max(Math.max(1, BLOCK / stored.width()), rowsOfChunk));
        sums = new double[Math.toIntExact(stored.elements())];
    }

    /**
     * Computes the statistics of files.
     *
     * @throws UserException if a file cannot be read or holds a number that is not finite, or a frame is too large
     */
    public static ChannelStatistics of(YearFiles years, ScanObserver observer) {
        StatisticsScan scan = new StatisticsScan(years.stored(), years.rowsOfChunk());
        ScanObserver.Counter progress = new ScanObserver.Counter(observer, years.frames() * years.stored().bytes());
        years.files().forEach(file -> scan.add(file, progress::add));
        return scan.result();
    }

    /** The rows of all channels, cut into blocks of one channel each. */
    private static List<Block> blocks(CropWindow stored, int most) {
        int rows = Math.min(stored.height(), most);
        List<Block> blocks = new ArrayList<>();
        for (int c = 0; c < stored.channels(); c++) {
            for (int j = 0; j < stored.height(); j += rows) {
                blocks.add(new Block(c * stored.height() + j, Math.min(rows, stored.height() - j), new Moments()));
            }
        }
        return blocks;
    }

    /**
     * Adds all frames of a file.
     *
     * @param progress receives the bytes of each part
     * @throws UserException if the file cannot be read, has other extents, or holds a number that is not finite
     */
    public void add(Era5File file, LongConsumer progress) {
        if (!file.stored().equals(stored)) {
            throw new UserException("Data file " + file.path() + " has frames of " + file.stored() + ", and the other "
                + "files of " + stored + ". Leave it out.");
        }
        int group = Math.clamp(GROUP_BYTES / stored.bytes(), 1, Integer.MAX_VALUE);
        for (int first = 0; first < file.times(); first += group) {
            int end = (int) Math.min(file.times(), (long) first + group);
            IntStream.range(end, (int) Math.min(file.times(), (long) end + group))
                .forEach(time -> file.willNeed(time, stored));
            add(file.path(), file::channelText, file::readRows, first, end);
            progress.accept((end - first) * stored.bytes());
        }
    }

    /**
     * Adds some frames.
     *
     * @param path  of their file, for messages
     * @param names of the channels, for messages
     * @param end   one more than the last
     * @throws UserException if they cannot be read, or hold a number that is not finite
     */
    public void add(Path path, IntFunction<String> names, RowReader reader, int first, int end) {
        blocks.parallelStream().forEach(block -> {
            float[] values = new float[block.rows * stored.width()];
            for (int time = first; time < end; time++) {
                reader.readRows(time, block.firstRow, block.rows, MemorySegment.ofArray(values), 0);
                if (!block.moments.add(values, values.length)) {
                    YearFiles.requireFinite(path, reader, stored, names, time, block.firstRow, block.rows);
                }
                addToSums(block.firstRow * stored.width(), values);
            }
        });
        frames += end - first;
    }

    private void addToSums(int first, float[] values) {
        for (int i = 0; i < values.length; i++) {
            sums[first + i] += values[i];
        }
    }

    /** The statistics of all frames that were added; at least one. Is called once, at the end. */
    public ChannelStatistics result() {
        Moments[] channels = IntStream.range(0, stored.channels()).mapToObj(c -> new Moments())
            .toArray(Moments[]::new);
        blocks.forEach(block -> channels[block.firstRow / stored.height()].add(block.moments));
        List<Moments> all = List.of(channels);
        for (int i = 0; i < sums.length; i++) {
            sums[i] /= frames;
        }
        return new ChannelStatistics(stored, all.stream().mapToDouble(Moments::mean).toArray(),
            all.stream().mapToDouble(Moments::deviation).toArray(), all.stream().mapToDouble(Moments::least).toArray(),
            all.stream().mapToDouble(Moments::greatest).toArray(), sums);
    }

    /** Rows of one channel, counted over all channels, and the moments of their values. */
    private record Block(int firstRow, int rows, Moments moments) { }
}
