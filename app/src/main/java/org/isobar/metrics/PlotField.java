package org.isobar.metrics;

/** A field (height, width), row 0 at the top, with the range of its finite values. */
final class PlotField {
    private final float[] values;
    private final int height;
    private final int width;
    private final double min;
    private final double max;

    PlotField(float[] values, int height, int width) {
        if (values.length != (long) height * width) {
            throw new IllegalArgumentException(values.length + " values for " + height + " x " + width + " points");
        }
        this.values = values;
        this.height = height;
        this.width = width;
        double low = Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        for (float value : values) {
            if (Float.isFinite(value)) {
                low = Math.min(low, value);
                high = Math.max(high, value);
            }
        }
        min = low <= high ? low : Double.NaN;
        max = low <= high ? high : Double.NaN;
    }

    int height() {
        return height;
    }

    int width() {
        return width;
    }

    /** The smallest finite value; NaN if there is none. */
    double min() {
        return min;
    }

    /** The largest finite value; NaN if there is none. */
    double max() {
        return max;
    }

    /**
     * Mean of the finite values in a rectangle given in fractions of the field. Each grid cell is weighted by the area
     * that it shares with the rectangle, so that fields may be enlarged or reduced.
     *
     * @return NaN if there is no finite value
     */
    double mean(double left, double right, double top, double bottom) {
        double sum = 0;
        double area = 0;
        for (int row = first(top, height); row < end(bottom, height); row++) {
            double rowShare = share(row, top * height, bottom * height);
            for (int column = first(left, width); column < end(right, width); column++) {
                float value = values[row * width + column];
                if (Float.isFinite(value)) {
                    double share = rowShare * share(column, left * width, right * width);
                    sum += share * value;
                    area += share;
                }
            }
        }
        return sum / area;
    }

    /** Whether the values between two heights, in fractions of the field, are those of one row. */
    boolean isOneRow(double top, double bottom) {
        return end(bottom, height) - first(top, height) == 1;
    }

    private static int first(double begin, int count) {
        return Math.min((int) (begin * count), count - 1);
    }

    private static int end(double end, int count) {
        return Math.min((int) Math.ceil(end * count), count);
    }

    private static double share(int cell, double begin, double end) {
        return Math.max(0, Math.min(end, cell + 1) - Math.max(begin, cell));
    }
}
