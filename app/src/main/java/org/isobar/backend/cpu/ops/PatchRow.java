package org.isobar.backend.cpu.ops;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.backend.cpu.generated.RunCode;
import org.isobar.backend.cpu.generated.RunCode.Runs;
import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.DType;

/**
 * One row of patches of one image, and its tokens. The image is accessed row by row, in memory order, while the tokens
 * stay in cache.
 *
 * @param tokens  of this row of patches
 * @param image   the whole image, F32
 * @param shape   of image and tokens
 * @param strip   index of the row of patches
 * @param scratch a row of pixels of one channel, or of a patch in all channels; used if tokens are not F32
 */
record PatchRow(FloatView tokens, FloatView image, PatchShape shape, int strip, MemorySegment scratch) {
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();
    /** Pixels of a row that are copied at once, so that all their channels stay in the L1 cache. */
    private static final int SPAN = 64;
    private static final VectorSpecies<Byte> PIECE = ByteVector.SPECIES_128;

    /** Direction of the copy: image to tokens, or tokens to image. */
    enum Way { TO_TOKENS, TO_IMAGE }

    /** Copies all pixels of the row of patches. */
    void move(Way way) {
        if (shape.order() == PatchShape.Order.CHANNEL_FIRST) {
            for (int c = 0; c < channels(); c++) {
                for (int p = 0; p < shape.patch(); p++) {
                    moveRow(way, c, p);
                }
            }
        } else {
            float[] row = new float[Math.max(1, SPAN / shape.patch()) * shape.patch()];
            float[] pixels = new float[row.length * channels()]; // (pixels, C)
            for (int p = 0; p < shape.patch(); p++) {
                for (int w = 0; w < shape.width(); w += row.length) {
                    moveSpan(way, pixels, row, p, w);
                }
            }
        }
    }

    /** Copies pixel row {@code p} of channel {@code c}. Tokens hold each patch's pixels of this row contiguously. */
    private void moveRow(Way way, int c, int p) {
        boolean narrow = tokens.dtype() == DType.BF16;
        long first = pixel(c, p);
        MemorySegment pixels = image.elements(first, first + shape.width());
        MemorySegment row = narrow ? scratch.asSlice(0, shape.width() * Short.BYTES) : pixels;
        long value = (long) (c * shape.patch() + p) * shape.patch() * tokens.dtype().bytes();
        long token = shape.tokenSize() * tokens.dtype().bytes();
        int run = shape.patch() * tokens.dtype().bytes();
        Runs inTokens = new Runs(tokens.memory().asSlice(value), token);
        Runs inRow = new Runs(row, run);
        if (way == Way.TO_TOKENS) {
            if (narrow) {
                Bfloat16.narrow(row, pixels);
            }
            copy(inTokens, inRow, run);
        } else {
            copy(inRow, inTokens, run);
            if (narrow) {
                Bfloat16.widen(pixels, row);
            }
        }
    }

    /** Copies one run of {@code bytes} bytes for each patch. */
    private void copy(Runs to, Runs from, int bytes) {
        int runs = (int) (shape.width() / shape.patch());
        if (RunCode.suits(bytes)) {
            RunCode.copy(to, from, runs, bytes);
        } else {
            copy(to, from, runs, bytes);
        }
    }

    static void copy(Runs to, Runs from, int count, int bytes) {
        for (int run = 0; run < count; run++) {
            long target = run * to.stride();
            long source = run * from.stride();
            int i = 0;
            for (; i <= bytes - PIECE.length(); i += PIECE.length()) {
                ByteVector.fromMemorySegment(PIECE, from.memory(), source + i, ORDER)
                    .intoMemorySegment(to.memory(), target + i, ORDER);
            }
            for (; i < bytes; i += Short.BYTES) {
                to.memory().set(ValueLayout.JAVA_SHORT, target + i,
                    from.memory().get(ValueLayout.JAVA_SHORT, source + i));
            }
        }
    }

    /**
     * Copies the pixels of row {@code p} from column {@code w}, all channels of some patches. Tokens hold the channels
     * of a pixel contiguously. {@code row} has the pixels of one channel, and {@code pixels} all channels in the order
     * of tokens.
     */
    private void moveSpan(Way way, float[] pixels, float[] row, int p, int w) {
        int count = Math.min(row.length, (int) shape.width() - w);
        if (way == Way.TO_IMAGE) {
            moveRuns(way, pixels, p, w, count);
        }
        for (int c = 0; c < channels(); c++) {
            long at = (pixel(c, p) + w) * (long) Float.BYTES;
            if (way == Way.TO_TOKENS) {
                MemorySegment.copy(image.memory(), ValueLayout.JAVA_FLOAT, at, row, 0, count);
                scatter(pixels, c, channels(), row, count);
            } else {
                gather(row, pixels, c, channels(), count);
                MemorySegment.copy(row, 0, image.memory(), ValueLayout.JAVA_FLOAT, at, count);
            }
        }
        if (way == Way.TO_TOKENS) {
            moveRuns(way, pixels, p, w, count);
        }
    }

    /** Copies between {@code pixels} and tokens, each of which has the pixels of one row contiguously. */
    private void moveRuns(Way way, float[] pixels, int p, int w, int count) {
        int run = shape.patch() * channels();
        for (int q = 0; q < count / shape.patch(); q++) {
            long first = (w / shape.patch() + q) * shape.tokenSize() + (long) p * run;
            if (way == Way.TO_TOKENS) {
                MemorySegment room = tokens.room(scratch, first, first + run);
                MemorySegment.copy(pixels, q * run, room, ValueLayout.JAVA_FLOAT, 0, run);
                tokens.keep(room, first, first + run);
            } else {
                MemorySegment.copy(tokens.read(scratch, first, first + run), ValueLayout.JAVA_FLOAT, 0, pixels, q * run,
                    run);
            }
        }
    }

    private static void scatter(float[] to, int first, int stride, float[] from, int count) {
        for (int i = 0; i < count; i++) {
            to[first + i * stride] = from[i];
        }
    }

    private static void gather(float[] to, float[] from, int first, int stride, int count) {
        for (int i = 0; i < count; i++) {
            to[i] = from[first + i * stride];
        }
    }

    /** Index in the image of the start of pixel row {@code p} of channel {@code c}. */
    private int pixel(int c, int p) {
        return (int) ((c * shape.height() + strip * shape.patch() + p) * shape.width());
    }

    private int channels() {
        return (int) shape.channels();
    }
}
