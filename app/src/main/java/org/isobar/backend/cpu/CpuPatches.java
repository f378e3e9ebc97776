package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.device.PatchShape;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Images to tokens and back; one task for each row of patches of each image. */
final class CpuPatches {
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT;

    private final WorkerPool pool;

    CpuPatches(WorkerPool pool) {
        this.pool = pool;
    }

    void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        MemorySegment to = HostStorage.of(tokens);
        MemorySegment from = HostStorage.of(image);
        forEachRun(shape, (pixel, value, stride, count) -> {
            for (int q = 0; q < count; q++) {
                to.setAtIndex(FLOAT, value + (long) q * stride, from.getAtIndex(FLOAT, pixel + q));
            }
        });
    }

    void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        MemorySegment to = HostStorage.of(image);
        MemorySegment from = HostStorage.of(tokens);
        forEachRun(shape, (pixel, value, stride, count) -> {
            for (int q = 0; q < count; q++) {
                to.setAtIndex(FLOAT, pixel + q, from.getAtIndex(FLOAT, value + (long) q * stride));
            }
        });
    }

    /** What is done with one row of pixels of one channel of one patch: {@code count} neighbours. */
    @FunctionalInterface
    private interface Run {
        /** Pixel {@code pixel + q} of the images belongs to value {@code value + q stride} of the tokens. */
        void accept(long pixel, long value, int stride, int count);
    }

    private void forEachRun(PatchShape shape, Run run) {
        int patch = shape.patch();
        int channels = Math.toIntExact(shape.channels());
        int across = Math.toIntExact(shape.width() / patch);
        int down = Math.toIntExact(shape.height() / patch);
        boolean channelFirst = shape.order() == PatchShape.Order.CHANNEL_FIRST;
        int stride = channelFirst ? 1 : channels;
        pool.run(Math.toIntExact(shape.batch() * down), task -> {
            int b = task / down;
            int i = task % down;
            for (int c = 0; c < channels; c++) {
                for (int p = 0; p < patch; p++) {
                    long pixel = ((b * shape.channels() + c) * shape.height() + i * patch + p) * shape.width();
                    int inToken = channelFirst ? (c * patch + p) * patch : p * patch * channels + c;
                    for (int j = 0; j < across; j++) {
                        long token = (long) task * across + j;
                        run.accept(pixel + j * patch, token * shape.tokenSize() + inToken, stride, patch);
                    }
                }
            }
        });
    }
}
