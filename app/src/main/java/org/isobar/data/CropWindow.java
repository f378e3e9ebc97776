package org.isobar.data;

/**
 * The part of each stored frame that is read: in each dimension the first indices, up to these extents.
 *
 * @param channels number of channels
 * @param height   number of latitudes
 * @param width    number of longitudes
 */
public record CropWindow(int channels, int height, int width) {
    /** Number of values in the window. */
    public long elements() {
        return (long) channels * height * width;
    }

    /** Size of the window in single precision, in bytes. */
    public long bytes() {
        return elements() * Float.BYTES;
    }

    @Override
    public String toString() {
        return channels + " x " + height + " x " + width;
    }
}
