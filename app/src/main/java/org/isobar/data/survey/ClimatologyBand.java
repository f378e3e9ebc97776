package org.isobar.data.survey;

import static org.isobar.data.ClimatologyFile.DAYS;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.Era5File;

/**
 * The climatology of a band of rows: for each time of the year the sum over years, in double precision, from which the
 * smoothed means are computed. The memory is used again for each band. Time step i of a year is i steps after
 * 1 January; so it has the day of year {@code i / frames of a day} and the hour of day of the remainder.
 */
final class ClimatologyBand {
    /** Values that a thread reads or writes at a time: small enough to stay in its cache. */
    private static final int BLOCK = 16 << 10;
    /** Points that are smoothed together: small enough that all days of them stay in a core's cache. */
    private static final int SLICE = 512;

    private final YearFiles years;
    private final ScanObserver.Counter progress;
    private final int framesOfDay;
    private final int width;
    private final int blockRows;
    private final int[] counts; // (time step): years that have it
    private final double[][] weights; // (time step, day of year)
    private final double[][] sums; // (time step, point of the band); once smoothed, the climatology
    private int firstRow;
    private int rows;

    /** The memory of bands of at most {@code mostRows} rows. */
    ClimatologyBand(YearFiles years, int framesOfDay, int mostRows, ScanObserver.Counter progress) {
        this.years = years;
        this.framesOfDay = framesOfDay;
        this.progress = progress;
        width = years.stored().width();
        blockRows = Math.max(Math.max(1, BLOCK / width), years.rowsOfChunk());
        counts = IntStream.range(0, framesOfDay * DAYS)
            .map(step -> (int) years.files().stream().filter(file -> file.times() > step).count()).toArray();
        weights = IntStream.range(0, counts.length).mapToObj(this::weights).toArray(double[][]::new);
        sums = new double[counts.length][mostRows * width];
    }

    /** Number of fields, of each hour of each day, that have no data in their window. */
    int emptyFields() {
        return (int) IntStream.range(0, counts.length).filter(step -> isEmpty(weights[step])).count();
    }

    /** Reads the rows from {@code first} to {@code end} of all frames, and adds them up. */
    void read(int first, int end) {
        firstRow = first;
        rows = end - first;
        IntStream.range(0, counts.length).parallel().forEach(this::add);
    }

    private void add(int step) {
        double[] sum = sums[step];
        Arrays.fill(sum, 0);
        List<Era5File> having = years.files().stream().filter(file -> file.times() > step).toList();
        float[] block = new float[Math.min(blockRows, rows) * width];
        for (Era5File file : having) {
            for (int row = 0; row < rows; row += blockRows) {
                int count = Math.min(blockRows, rows - row);
                file.readRows(step, firstRow + row, count, MemorySegment.ofArray(block), 0);
                int start = row * width;
                for (int i = 0; i < count * width; i++) {
                    sum[start + i] += block[i];
                }
            }
        }
        if (!isFinite(sum, rows * width)) {
            having.forEach(file ->
                YearFiles.requireFinite(file.path(), file::readRows, file.stored(), file::channelText, step, firstRow,
                    rows));
        }
        progress.add((long) having.size() * rows * width * Float.BYTES);
    }

    private static boolean isFinite(double[] values, int count) {
        double zero = 0;
        for (int i = 0; i < count; i++) {
            zero += values[i] * 0; // 0, or NaN if the value is not finite
        }
        return zero == 0;
    }

    /** Replaces the sums by the smoothed means. */
    void smooth() {
        int slices = (rows * width + SLICE - 1) / SLICE;
        IntStream.range(0, framesOfDay * slices).parallel()
            .forEach(task -> smooth(task % framesOfDay, task / framesOfDay * SLICE));
    }

    private void smooth(int hour, int start) {
        int count = Math.min(SLICE, rows * width - start);
        double[][] totals = new double[DAYS][];
        for (int day = 0; day < DAYS; day++) {
            totals[day] = Arrays.copyOfRange(sums[day * framesOfDay + hour], start, start + count);
        }
        double[] mean = new double[count];
        for (int day = 0; day < DAYS; day++) {
            int step = day * framesOfDay + hour;
            Arrays.fill(mean, isEmpty(weights[step]) ? Double.NaN : 0);
            for (int other = 0; other < DAYS; other++) {
                double weight = weights[step][other];
                if (weight > 0) {
                    addScaled(mean, totals[other], weight / counts[other * framesOfDay + hour]);
                }
            }
            System.arraycopy(mean, 0, sums[step], start, count);
        }
    }

    /** Writes the smoothed means of the band to their places in the file, whose data begin at a byte. */
    void write(FileChannel channel, long dataAddress) throws IOException {
        try {
            IntStream.range(0, counts.length).parallel().forEach(step -> write(channel, dataAddress, step));
        } catch (UncheckedIOException failure) {
            throw failure.getCause();
        }
    }

    private void write(FileChannel channel, long dataAddress, int step) {
        int points = rows * width;
        ByteBuffer bytes = ByteBuffer.allocate(Math.min(BLOCK, points) * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long field = (long) (step % framesOfDay) * DAYS + step / framesOfDay;
        long point = field * years.stored().elements() + (long) firstRow * width;
        for (int start = 0; start < points; start += BLOCK) {
            int end = Math.min(start + BLOCK, points);
            bytes.clear();
            for (int i = start; i < end; i++) {
                bytes.putFloat((float) sums[step][i]);
            }
            writeFully(channel, bytes.flip(), dataAddress + (point + start) * Float.BYTES);
        }
        progress.add((long) points * Float.BYTES);
    }

    private static void addScaled(double[] mean, double[] total, double factor) {
        for (int i = 0; i < mean.length; i++) {
            mean[i] += factor * total[i];
        }
    }

    /** Weights of the days of year in the field of a time step. */
    private double[] weights(int step) {
        int hour = step % framesOfDay;
        return SeasonalWindow.weights(step / framesOfDay,
            IntStream.range(0, DAYS).map(day -> counts[day * framesOfDay + hour]).toArray());
    }

    private static boolean isEmpty(double[] weights) {
        return Arrays.stream(weights).noneMatch(weight -> weight > 0);
    }

    private static void writeFully(FileChannel channel, ByteBuffer bytes, long position) {
        try {
            for (long at = position; bytes.hasRemaining();) {
                at += channel.write(bytes, at);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
