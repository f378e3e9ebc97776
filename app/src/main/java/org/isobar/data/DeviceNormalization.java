package org.isobar.data;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.HostBuffer;
import org.isobar.device.ops.TensorOps;
import org.isobar.tensor.Tensor;

/** Reads images as they are stored and normalizes them on the device, in place. The host does not wait for it. */
final class DeviceNormalization implements BatchPipeline {
    private final Era5Dataset dataset;
    private final TensorOps ops;
    private final DeviceArena statistics;
    private final Tensor means; // (C), all channels of input and target
    private final Tensor spreads; // (C)

    DeviceNormalization(Device device, Era5Dataset dataset) {
        this.dataset = dataset;
        ops = device.ops();
        Normalization normalization = dataset.normalization();
        int channels = normalization.means().length;
        statistics = device.arena("the channels' statistics", bytes(channels));
        means = statistics.f32(channels);
        spreads = statistics.f32(channels);
        device.upload(means, MemorySegment.ofArray(normalization.means()));
        device.upload(spreads, MemorySegment.ofArray(normalization.spreads()));
    }

    /** Device memory for the statistics of that many channels, in bytes. */
    static long bytes(int channels) {
        return 2 * DeviceArena.align((long) channels * Float.BYTES);
    }

    @Override
    public void read(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset) {
        dataset.readRaw(sample, input, inputOffset, target, targetOffset);
    }

    @Override
    public Tensor deliver(HostBuffer slot) {
        Tensor images = slot.toDevice();
        long channels = images.shape().extent(1);
        ops.images().normalize(images, images, means.slice(0, channels), spreads.slice(0, channels));
        return images;
    }

    @Override
    public void close() {
        statistics.close();
    }
}
