package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;

import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.VectorSquare;
import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.DType;

/**
 * One row of patches of one image, and its tokens. The image is accessed row by row, in memory order, while the tokens
 * stay in cache.
 *
 * @param tokens of this row of patches
 * @param image  the whole image
 * @param shape  of image and tokens
 * @param strip  index of the row of patches
 */
record PatchRow(FloatView tokens, FloatView image, PatchShape shape, int strip) {
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
        int patch = shape.patch();
        int across = (int) (shape.width() / patch);
        for (int q = 0; q < patch; q += WIDTH) {
            int count = Math.min(WIDTH, patch - q);
            int value = (c * patch + p) * patch + q;
            if (way == Way.TO_TOKENS) {
                copy(tokens, value, tokenSize(), image, pixel(c, p) + q, patch, across, count);
            } else {
                copy(image, pixel(c, p) + q, patch, tokens, value, tokenSize(), across, count);
            }
        }
    }

    /** Copies {@code runs} runs of {@code count} elements each; a run is at most one vector long. */
    private static void copy(FloatView to, int first, int stride, FloatView from, int fromFirst, int fromStride,
        int runs,
        int count) {
        for (int run = 0; run < runs; run++) {
            int index = first + run * stride;
            int source = fromFirst + run * fromStride;
            if (from.dtype() == DType.BF16) { // a vector that is one or the other would be made an object
                Lanes.store(to.memory(), index, Bfloat16.load(from.memory(), source, count), count);
            } else if (to.dtype() == DType.BF16) {
                Bfloat16.store(to.memory(), index, Lanes.load(from.memory(), source, count), count);
            } else {
                Lanes.store(to.memory(), index, Lanes.load(from.memory(), source, count), count);
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
