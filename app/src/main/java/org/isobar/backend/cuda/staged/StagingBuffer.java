package org.isobar.backend.cuda.staged;

import static org.bytedeco.cuda.global.cudart.cuMemcpyDtoHAsync;
import static org.bytedeco.cuda.global.cudart.cuMemcpyHtoDAsync;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

import org.bytedeco.javacpp.Pointer;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.backend.cuda.driver.PinnedMemory;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;

/**
 * Pinned host memory that one GPU tensor at a time is copied to and from, on a stream of its own. It grows to the
 * largest tensor. Tensors in half precision are converted to single precision, in which the host reduces them: the
 * conversion there is exact, the conversion back rounds once. Used by one thread.
 */
final class StagingBuffer implements AutoCloseable {
    private static final long LEAST = 1L << 16;

    private final Gpu gpu;
    private final HostWait waits;
    private final CudaStream stream = new CudaStream();
    private final CudaEvent fetched = new CudaEvent();
    private final CudaEvent landed = new CudaEvent();
    private PinnedMemory pinned;
    private MemorySegment single = MemorySegment.NULL;

    /**
     * A GPU tensor that is a part of the staged tensor, or all of it.
     *
     * @param tensor the part, in GPU memory
     * @param at     element of the staged tensor at which the part begins
     */
    record Part(Tensor tensor, long at) { }

    /** A small buffer, which grows when needed. */
    StagingBuffer(Gpu gpu, HostWait waits) {
        this.gpu = gpu;
        this.waits = waits;
        pinned = new PinnedMemory(gpu, LEAST);
    }

    /** Copies a staged tensor to new host memory. */
    static Tensor copy(Tensor staged) {
        MemorySegment own = Arena.ofAuto().allocate(staged.bytes(), DType.F64.bytes());
        own.copyFrom(HostStorage.of(staged));
        return new Tensor(new HostStorage(own), 0, staged.dtype(), staged.shape());
    }

    /** Recorded behind the copy of the latest {@link #deliver}. */
    CudaEvent landed() {
        return landed;
    }

    /**
     * Waits for {@code ready} and copies this GPU's part of a tensor to the host. The rest of the staged tensor is
     * undefined.
     *
     * @return the staged tensor, (elements) in F32 or F64, valid until the next call; at least one element
     */
    Tensor fetch(DType dtype, long elements, Optional<Part> part, CudaEvent ready) {
        reserve(elements * dtype.bytes());
        stream.await(ready);
        part.ifPresent(from -> Cuda.check(cuMemcpyDtoHAsync(address(from), from.tensor().address(),
            from.tensor().bytes(), stream.handle()), "cuMemcpyDtoHAsync"));
        stream.record(fetched);
        waits.until(fetched); // the stream has then finished the previous tensor, too
        if (!isHalf(dtype)) {
            return new Tensor(new HostStorage(pinned.segment()), 0, dtype, Shape.of(Math.max(1, elements)));
        }
        long bytes = elements * DType.F32.bytes();
        if (single.byteSize() < bytes) {
            single = Arena.ofAuto().allocate(bytes, DType.F64.bytes());
        }
        part.ifPresent(this::widen);
        return new Tensor(new HostStorage(single), 0, DType.F32, Shape.of(elements));
    }

    /** Copies a part of the staged tensor to the GPU. The host does not wait. */
    void deliver(Part part) {
        if (isHalf(part.tensor().dtype())) {
            round(part);
        }
        Cuda.check(cuMemcpyHtoDAsync(part.tensor().address(), address(part), part.tensor().bytes(), stream.handle()),
            "cuMemcpyHtoDAsync");
        stream.record(landed);
    }

    private Pointer address(Part part) {
        long offset = part.at() * part.tensor().dtype().bytes();
        assert offset + part.tensor().bytes() <= pinned.segment().byteSize() : part;
        return new Pointer(pinned.pointer()).position(offset); // positions of a plain pointer are bytes
    }

    private void reserve(long bytes) {
        if (bytes > pinned.segment().byteSize()) {
            waits.until(landed); // the previous tensor may still be copied from here
            pinned.close();
            pinned = new PinnedMemory(gpu, bytes);
        }
    }

    private static boolean isHalf(DType dtype) {
        return dtype == DType.F16 || dtype == DType.BF16;
    }

    private void widen(Part part) {
        boolean binary16 = part.tensor().dtype() == DType.F16;
        for (long i = part.at(); i < part.at() + part.tensor().elements(); i++) {
            short bits = pinned.segment().getAtIndex(ValueLayout.JAVA_SHORT, i);
            single.setAtIndex(ValueLayout.JAVA_FLOAT, i,
                binary16 ? Float.float16ToFloat(bits) : Float.intBitsToFloat(bits << Short.SIZE));
        }
    }

    private void round(Part part) {
        DType dtype = part.tensor().dtype();
        for (long i = part.at(); i < part.at() + part.tensor().elements(); i++) {
            pinned.segment().setAtIndex(ValueLayout.JAVA_SHORT, i,
                (short) dtype.bits(single.getAtIndex(ValueLayout.JAVA_FLOAT, i)));
        }
    }

    /** Waits for copies in flight and frees the memory. Errors of a failed device are ignored. */
    @Override
    public void close() {
        try {
            gpu.makeCurrent();
            stream.synchronize();
        } catch (CudaException failed) {
            // Reported already by the thread that met it first.
        }
        pinned.close();
        gpu.release(() -> {
            fetched.close();
            landed.close();
            stream.close();
        });
    }
}
