package org.isobar.metrics;

import java.util.Arrays;

/** A picture in memory: rows of red, green and blue bytes from the top, initially white. Colours are 0xRRGGBB. */
final class Raster {
    static final int CHANNELS = 3;
    private static final int BYTE_MASK = 0xFF;

    private final int width;
    private final int height;
    private final byte[] rgb;

    Raster(int width, int height) {
        this.width = width;
        this.height = height;
        rgb = new byte[CHANNELS * width * height];
        clear();
    }

    /** Sets all pixels to white. */
    void clear() {
        Arrays.fill(rgb, (byte) BYTE_MASK);
    }

    int width() {
        return width;
    }

    int height() {
        return height;
    }

    /** Size of a row in bytes; a row begins at {@code row * rowBytes()} in {@link #bytes}. */
    int rowBytes() {
        return CHANNELS * width;
    }

    byte[] bytes() {
        return rgb;
    }

    int color(int x, int y) {
        int at = CHANNELS * (y * width + x);
        return (rgb[at] & BYTE_MASK) << 16 | (rgb[at + 1] & BYTE_MASK) << 8 | rgb[at + 2] & BYTE_MASK;
    }

    /** Blends a colour over a pixel; with {@code opacity} 1 it is {@link #set}. */
    void blend(int x, int y, int color, double opacity) {
        int at = CHANNELS * (y * width + x);
        for (int channel = 0; channel < CHANNELS; channel++) {
            int over = color >> 8 * (CHANNELS - 1 - channel) & BYTE_MASK;
            int under = rgb[at + channel] & BYTE_MASK;
            rgb[at + channel] = (byte) Math.round(under + opacity * (over - under));
        }
    }

    void set(int x, int y, int color) {
        int at = CHANNELS * (y * width + x);
        rgb[at] = (byte) (color >> 16);
        rgb[at + 1] = (byte) (color >> 8);
        rgb[at + 2] = (byte) color;
    }

    /** Copies {@code across} pixels of the row above {@code y} into that row. */
    void repeat(int left, int y, int across) {
        int at = CHANNELS * (y * width + left);
        System.arraycopy(rgb, at - rowBytes(), rgb, at, CHANNELS * across);
    }

    /** Fills a rectangle. */
    void fill(int left, int top, int across, int down, int color) {
        for (int y = top; y < top + down; y++) {
            for (int x = left; x < left + across; x++) {
                set(x, y, color);
            }
        }
    }

    /** Draws a line of one pixel around the outside of a rectangle. */
    void frame(int left, int top, int across, int down, int color) {
        fill(left - 1, top - 1, across + 2, 1, color);
        fill(left - 1, top + down, across + 2, 1, color);
        fill(left - 1, top, 1, down, color);
        fill(left + across, top, 1, down, color);
    }
}
