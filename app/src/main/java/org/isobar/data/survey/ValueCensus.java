package org.isobar.data.survey;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.CropWindow;
import org.isobar.data.Era5File;

/**
 * What values a channel has in all frames of some files.
 *
 * @param least    smallest finite value; positive infinity if there is none
 * @param greatest largest finite value; negative infinity if there is none
 * @param nans     number of NaNs
 * @param infinite number of infinities
 */
public record ValueCensus(float least, float greatest, long nans, long infinite) {
    private static final int BLOCK = 16 << 10;
    private static final ValueCensus NONE =
        new ValueCensus(Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 0, 0);

    /**
     * Reads all values, and counts those of each channel.
     *
     * @throws org.isobar.fault.UserException if a file cannot be read
     */
    public static List<ValueCensus> of(YearFiles years, ScanObserver observer) {
        ScanObserver.Counter progress =
            new ScanObserver.Counter(observer, years.frames() * years.stored().bytes());
        return IntStream.range(0, years.stored().channels()).parallel()
            .mapToObj(channel -> of(years, channel, progress)).toList();
    }

    private static ValueCensus of(YearFiles years, int channel, ScanObserver.Counter progress) {
        CropWindow stored = years.stored();
        int blockRows = Math.min(stored.height(), Math.max(Math.max(1, BLOCK / stored.width()), years.rowsOfChunk()));
        float[] values = new float[blockRows * stored.width()];
        ValueCensus census = NONE;
        for (Era5File file : years.files()) {
            for (int time = 0; time < file.times(); time++) {
                for (int row = 0; row < stored.height(); row += blockRows) {
                    int rows = Math.min(blockRows, stored.height() - row);
                    file.readRows(time, channel * stored.height() + row, rows, MemorySegment.ofArray(values), 0);
                    census = census.with(values, rows * stored.width());
                }
                progress.add((long) stored.height() * stored.width() * Float.BYTES);
            }
        }
        return census;
    }

    private ValueCensus with(float[] values, int count) {
        float low = least;
        float high = greatest;
        long moreNans = 0;
        long moreInfinite = 0;
        for (int i = 0; i < count; i++) {
            float value = values[i];
            if (Float.isFinite(value)) {
                low = Math.min(low, value);
                high = Math.max(high, value);
            } else if (Float.isNaN(value)) {
                moreNans++;
            } else {
                moreInfinite++;
            }
        }
        return new ValueCensus(low, high, nans + moreNans, infinite + moreInfinite);
    }
}
