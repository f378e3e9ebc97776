package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.VectorSquare;
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
 * @param scratch one row of pixels, used if tokens are not F32
 */
record PatchRow(FloatView tokens, FloatView image, PatchShape shape, int strip, MemorySegment scratch) {
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();
    private static final VectorSpecies<Byte> PIECE = ByteVector.SPECIES_128;

    /** Direction of the copy: image to tokens, or tokens to image. */
    enum Way { TO_TOKENS, TO_IMAGE }

    /** Copies all pixels of the row of patches. */
    void move(Way way) {
        VectorSquare square = new VectorSquare();
        for (int c = 0; c < channels(); c += shape.order() == PatchShape.Order.CHANNEL_FIRST ? 1 : WIDTH) {
            for (int p = 0; p < shape.patch(); p++) {
                switch (shape.order()) {
                    case CHANNEL_FIRST -> moveRow(way, c, p);
                    default -> moveSquares(way, square, c, p);
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
        if (way == Way.TO_TOKENS) {
            if (narrow) {
                Bfloat16.narrow(row, pixels);
            }
            copy(tokens.memory(), value, token, row, 0, run, run);
        } else {
            copy(row, 0, run, tokens.memory(), value, token, run);
            if (narrow) {
                Bfloat16.widen(pixels, row);
            }
        }
    }

    /** Copies one run of {@code bytes} bytes for each patch. */
    private void copy(MemorySegment to, long toFirst, long toStride, MemorySegment from, long fromFirst,
        long fromStride, int bytes) {
        int runs = (int) (shape.width() / shape.patch());
        for (int run = 0; run < runs; run++) {
            long target = toFirst + run * toStride;
            long source = fromFirst + run * fromStride;
            int i = 0;
            for (; i <= bytes - PIECE.length(); i += PIECE.length()) {
                ByteVector.fromMemorySegment(PIECE, from, source + i, ORDER).intoMemorySegment(to, target + i, ORDER);
            }
            for (; i < bytes; i += Short.BYTES) {
                to.set(ValueLayout.JAVA_SHORT, target + i, from.get(ValueLayout.JAVA_SHORT, source + i));
            }
        }
    }

    /**
     * Copies pixel row {@code p} of several channels, starting at {@code c}. Tokens hold the channels of a pixel
     * contiguously.
     */
    private void moveSquares(Way way, VectorSquare square, int c, int p) {
        for (int w = 0; w < shape.width(); w += WIDTH) {
            if (way == Way.TO_TOKENS) {
                moveChannels(way, square, c, p, w);
                square.transpose();
                movePixels(way, square, c, p, w);
            } else {
                movePixels(way, square, c, p, w);
                square.transpose();
                moveChannels(way, square, c, p, w);
            }
        }
    }

    /** Copies between the image, starting at column {@code w}, and the rows of a square. */
    private void moveChannels(Way way, VectorSquare square, int c, int p, int w) {
        int rows = Math.min(WIDTH, channels() - c);
        int count = Math.min(WIDTH, (int) shape.width() - w);
        int stride = (int) (shape.height() * shape.width());
        if (way == Way.TO_TOKENS) {
            square.read(0, rows, image, pixel(c, p) + w, stride, count);
        } else {
            square.write(0, rows, image, pixel(c, p) + w, stride, count);
        }
    }

    /** Copies between the rows of a square and tokens. The pixels of one patch are contiguous in its token. */
    private void movePixels(Way way, VectorSquare square, int c, int p, int w) {
        int patch = shape.patch();
        int count = Math.min(WIDTH, channels() - c);
        int rows = Math.min(WIDTH, (int) shape.width() - w);
        for (int row = 0; row < rows;) {
            int q = (w + row) % patch;
            int end = Math.min(rows, row + patch - q);
            int value = (w + row) / patch * tokenSize() + (p * patch + q) * channels() + c;
            if (way == Way.TO_TOKENS) {
                square.write(row, end, tokens, value, channels(), count);
            } else {
                square.read(row, end, tokens, value, channels(), count);
            }
            row = end;
        }
    }

    /** Index in the image of the start of pixel row {@code p} of channel {@code c}. */
    private int pixel(int c, int p) {
        return (int) ((c * shape.height() + strip * shape.patch() + p) * shape.width());
    }

    private int channels() {
        return (int) shape.channels();
    }

    private int tokenSize() {
        return (int) shape.tokenSize();
    }
}
