package org.isobar.data;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * The samples of one step, on their way from the host's memory to the device. The buffers belong to the
 * {@link DataLoader}, which fills them again after {@link #close}.
 */
public final class Batch implements AutoCloseable {
    private final BatchPipeline feed;
    private final HostBuffer input; // (B, Cin, H, W)
    private final HostBuffer target; // (B, Cout, H, W)
    private final long inputBytes;
    private final long targetBytes;
    private final int[] samples;
    private Tensor inputImages; // on the device; null until somebody asks
    private Tensor targetImages;
    private Runnable onRelease = () -> { };

    Batch(Device device, BatchPipeline feed, DatasetConfig config, int size) {
        this.feed = feed;
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

    /**
     * The normalized frames that the model sees, single precision (batch, inChannels, height, width), for operations
     * issued before {@link #close}. The first call brings them to the device.
     */
    public Tensor input() {
        if (inputImages == null) {
            inputImages = feed.deliver(input);
        }
        return inputImages;
    }

    /** The normalized frames that it is to forecast, (batch, outChannels, height, width), likewise. */
    public Tensor target() {
        if (targetImages == null) {
            targetImages = feed.deliver(target);
        }
        return targetImages;
    }

    /** Number of each sample in the data set, in the order of the batch; a copy. */
    public int[] samples() {
        return samples.clone();
    }

    /** Gives the buffers back to be filled again: nothing that is issued from now on may read them. */
    @Override
    public void close() {
        input.release();
        target.release();
        onRelease.run();
    }

    /** Reads sample {@code number} into place {@code index}. */
    void fill(int index, int number) {
        samples[index] = number;
        MemorySegment inputs = input.segment();
        MemorySegment targets = target.segment();
        feed.read(number, inputs, index * inputBytes, targets, index * targetBytes);
    }

    /** Has been filled; {@code action} is run when it is closed. */
    void open(Runnable action) {
        inputImages = null;
        targetImages = null;
        onRelease = action;
    }

    void free() {
        input.close();
        target.close();
    }
}
