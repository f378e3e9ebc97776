package org.isobar.backend.cuda;

import static org.bytedeco.cuda.global.cudart.cuCtxSynchronize;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

import org.isobar.device.Arena;
import org.isobar.device.TensorOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/** The way of inputs to the first GPU, with its parts in reach. Closing it never fails: the GPU may have. */
final class InputFixture implements AutoCloseable {
    static final Shape IMAGES = Shape.of(1, 1, 2, 4);

    final CudaStack stack = CudaFixture.stack(System.getenv(), new ArrayList<>());
    final CudaStream copy = new CudaStream();
    final InputPlaces places = new InputPlaces(stack.gpu());
    final TensorOps ops = new CudaTensorOps(stack.context());
    final Arena arena;
    private final List<CudaHostBuffer> slots = new ArrayList<>();

    InputFixture() {
        DeviceMemory memory = new DeviceMemory(stack.gpu(), "results", 1 << 16);
        arena = new Arena("results", memory, memory::close);
    }

    /** A slot whose copies are ordered with {@code compute}. */
    CudaHostBuffer slot(CudaStream compute) {
        CudaHostBuffer slot = new CudaHostBuffer(
            new CudaHostBuffer.InputStreams(stack.gpu(), compute, copy, places, stack.waits()), DType.F32, IMAGES);
        slots.add(slot);
        return slot;
    }

    /** A slot as the device makes it. */
    CudaHostBuffer slot() {
        return slot(stack.compute());
    }

    Tensor result() {
        return arena.f32(IMAGES.extents());
    }

    static void fill(MemorySegment segment, float value) {
        for (long i = 0; i < segment.byteSize() / Float.BYTES; i++) {
            segment.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
    }

    /** Waits for all streams; throws what went wrong on any. */
    void finish() {
        Cuda.check(cuCtxSynchronize(), "cuCtxSynchronize");
    }

    @Override
    public void close() {
        slots.forEach(CudaHostBuffer::close);
        places.close();
        arena.close();
        stack.close();
    }
}
