package org.isobar.data;

import java.lang.foreign.MemorySegment;

import org.isobar.device.HostBuffer;
import org.isobar.tensor.Tensor;

/** Normalizes images on the host while reading them. {@link #deliver} returns when the device has its copy. */
record HostNormalization(Era5Dataset dataset) implements BatchPipeline {
    @Override
    public void read(long sample, MemorySegment input, long inputOffset, MemorySegment target, long targetOffset) {
        dataset.read(sample, input, inputOffset, target, targetOffset);
    }

    @Override
    public Tensor deliver(HostBuffer slot) {
        Tensor images = slot.toDevice();
        slot.segment(); // waits for the copy
        return images;
    }
}
