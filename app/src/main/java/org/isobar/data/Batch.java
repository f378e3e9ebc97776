package org.isobar.data;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * The samples of one step, in memory that a device can read. The buffers belong to the {@link DataLoader}, which fills
 * them again after {@link #close}.
 */
public final class Batch implements AutoCloseable {
    private final HostBuffer input; // (B, Cin, H, W)
    private final HostBuffer target; // (B, Cout, H, W)
    private final long inputBytes;
    private final long targetBytes;
    private final int[] samples;
    private Runnable onRelease = () -> { };

    Batch(Device device, DatasetConfig config, int size) {
        samples = new int[size];
        inputBytes = config.input().bytes();
        targetBytes = config.target().bytes();
        input = device.hostBuffer(DType.F32,
            Shape.of(size, config.inChannels(), config.height(), config.width()));
        try {
            target = device.hostBuffer(DType.F32,
                Shape.of(size, config.outChannels(), config.height(), config.width()));
        } catch (RuntimeException noMemory) {
            input.close();
            throw noMemory;
        }
    }

    /** The normalized frames that the model sees, single precision (batch, inChannels, height, width). */
    public HostBuffer input() {
        return input;
    }

    /** The normalized frames that it is to forecast, single precision (batch, outChannels, height, width). */
    public HostBuffer target() {
        return target;
    }

    /** Number of each sample in the data set, in the order of the batch; a copy. */
    public int[] samples() {
        return samples.clone();
    }

    /** Gives the buffers back to be filled again: nothing may read them from now on. */
    @Override
    public void close() {
        input.release();
        target.release();
        onRelease.run();
    }

    /** Reads sample {@code number} into place {@code index}. */
    void fill(Era5Dataset dataset, int index, int number) {
        samples[index] = number;
        MemorySegment inputs = input.segment();
        MemorySegment targets = target.segment();
        dataset.read(number, inputs, index * inputBytes, targets, index * targetBytes);
    }

    void onRelease(Runnable action) {
        onRelease = action;
    }

    void free() {
        input.close();
        target.close();
    }
}
