package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * The input and target images of one training step, or of one of its micro-batches, in host buffers and, once
 * requested, on the device. The buffers belong to the {@link DataLoader}, which reuses them after {@link #close}.
 */
public final class Batch implements AutoCloseable {
    private final BatchPipeline pipeline;
    private final HostBuffer input; // (B, Cin, H, W)
    private final HostBuffer target; // (B, Cout, H, W)
    private final long inputBytes;
    private final long targetBytes;
    private final int[] samples;
    private Tensor inputImages; // on the device; null before the first call of input()
    private Tensor targetImages;
    private Runnable onRelease = () -> { };

    /** The batches of a data set, epoch by epoch. One thread consumes them, and one epoch is open at a time. */
    public interface Source {
        /** Number of steps of an epoch. */
        int steps();

        /**
         * Starts the batches of an epoch after its first {@code done} steps; each step has the same number of batches.
         * The caller closes it.
         */
        Epoch epoch(long number, int done);

        /** Starts the batches of an epoch. The caller closes it. */
        default Epoch epoch(long number) {
            return epoch(number, 0);
        }

        /** The first NaN or infinity in a sample of the data set; empty if all values are finite. */
        Optional<NonFiniteValue> firstNonFinite(long sample);
    }

    /** Iterates over the batches of one epoch. */
    public interface Epoch extends AutoCloseable {
        /** Whether there is another batch. */
        boolean hasNext();

        /** The next batch; the previous one must have been closed. */
        Batch next();

        /** Ends the epoch. */
        @Override
        void close();
    }

    Batch(Device device, BatchPipeline pipeline, DatasetConfig config, int size) {
        this.pipeline = pipeline;
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

    /** A batch of {@code size} samples that are never read, for dry runs. */
    public static Batch unread(Device device, DatasetConfig config, int size) {
        return new Batch(device, new BatchPipeline() {
            @Override
            public void read(long sample, MemorySegment input, long inputOffset, MemorySegment target,
                long targetOffset) { }

            @Override
            public Tensor deliver(HostBuffer slot) {
                return slot.toDevice();
            }
        }, config, size);
    }

    /**
     * The normalized input images of the model on the device, F32 (batch, inChannels, height, width). Valid for
     * operations issued before {@link #close}. The first call copies them to the device.
     */
    public Tensor input() {
        if (inputImages == null) {
            inputImages = pipeline.deliver(input);
        }
        return inputImages;
    }

    /**
     * The normalized target images on the device, F32 (batch, outChannels, height, width). Valid for operations issued
     * before {@link #close}. The first call copies them to the device.
     */
    public Tensor target() {
        if (targetImages == null) {
            targetImages = pipeline.deliver(target);
        }
        return targetImages;
    }

    /** The data set's number of each sample, in the order of the batch; a copy. */
    public int[] samples() {
        return samples.clone();
    }

    /** Returns the buffers to the loader. Operations issued after this call must not read them. */
    @Override
    public void close() {
        input.release();
        target.release();
        onRelease.run();
    }

    /** Reads sample {@code number} of the data set into position {@code index} of the batch. */
    void fill(int index, int number) {
        samples[index] = number;
        MemorySegment inputs = input.segment();
        MemorySegment targets = target.segment();
        pipeline.read(number, inputs, index * inputBytes, targets, index * targetBytes);
    }

    /** Hands the filled batch to the consumer; {@link #close} runs {@code action}. */
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
