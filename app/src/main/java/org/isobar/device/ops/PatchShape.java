package org.isobar.device.ops;

/**
 * How images are cut into square patches. Tokens run over the patch grid row by row.
 *
 * @param batch    images, B
 * @param channels channels, C
 * @param height   rows of pixels, a multiple of {@code patch}
 * @param width    columns of pixels, a multiple of {@code patch}
 * @param patch    side of a patch in pixels, P
 * @param order    order of a token's values
 */
public record PatchShape(long batch, long channels, long height, long width, int patch, Order order) {
    /** Order of the values of one token. */
    public enum Order {
        /** (c, p, q): that of a convolution's weight (out, in, kernel rows, kernel columns). */
        CHANNEL_FIRST,
        /** (p, q, c): that of the prediction head. */
        CHANNEL_LAST
    }

    /** Patches of one image. */
    public long tokens() {
        return (height / patch) * (width / patch);
    }

    /** Values of one token. */
    public long tokenSize() {
        return channels * patch * patch;
    }
}
