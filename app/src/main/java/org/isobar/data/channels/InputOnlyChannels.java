package org.isobar.data.channels;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.LocalDateTime;

/**
 * The input channels of a model that are no variables of the data: constant fields and the time. They follow the
 * variables in each image. Thread-safe.
 *
 * @param constants constant fields, (K, H, W) in the units of their file; not modified
 * @param pixels    H W
 * @param time      whether {@link TimeChannels} follow
 */
public record InputOnlyChannels(float[] constants, int pixels, boolean time) {
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

    /** No such channels. */
    public static final InputOnlyChannels NONE = new InputOnlyChannels(new float[0], 1, false);

    /** Number of constant fields. */
    public int constantFields() {
        return constants.length / pixels;
    }

    /** Number of channels. */
    public int count() {
        return constantFields() + (time ? TimeChannels.NAMES.size() : 0);
    }

    /**
     * Writes the channels of one image, normalized.
     *
     * @param valid   the image's time
     * @param means   mean of each channel of the image
     * @param spreads standard deviation of each channel of the image
     * @param first   number of the first of these channels in the image
     * @param image   receives them at their place in the image
     * @param offset  byte offset of the image
     */
    public void write(LocalDateTime valid, float[] means, float[] spreads, int first, MemorySegment image,
        long offset) {
        long to = offset + (long) first * pixels * Float.BYTES;
        for (int k = 0; k < constantFields(); k++) {
            for (int i = k * pixels; i < (k + 1) * pixels; i++) {
                image.set(FLOAT, to + (long) i * Float.BYTES, (constants[i] - means[first + k]) / spreads[first + k]);
            }
        }
        if (time) {
            writeTime(valid, image, to + (long) constants.length * Float.BYTES);
        }
    }

    /** Writes the {@link TimeChannels} alone, (4, H, W). They are not normalized. */
    public void writeTime(LocalDateTime valid, MemorySegment target, long offset) {
        float[] values = TimeChannels.at(valid);
        long bytes = (long) pixels * Float.BYTES;
        for (int channel = 0; channel < values.length; channel++) {
            for (long to = channel * bytes; to < (channel + 1) * bytes; to += Float.BYTES) {
                target.set(FLOAT, offset + to, values[channel]);
            }
        }
    }
}
