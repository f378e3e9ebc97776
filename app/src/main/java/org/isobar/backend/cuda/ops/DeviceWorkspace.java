package org.isobar.backend.cuda.ops;

import java.util.Optional;

import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.DeviceMemory;
import org.isobar.backend.cuda.driver.Gpu;

/** The workspace of a device: one block of memory, which grows only when more is reserved. */
public final class DeviceWorkspace implements CudaWorkspace, AutoCloseable {
    private final Gpu gpu;
    private final CudaStream stream;
    private Optional<DeviceMemory> memory = Optional.empty();

    /** @param stream stream of the operations that use the workspace */
    DeviceWorkspace(Gpu gpu, CudaStream stream) {
        this.gpu = gpu;
        this.stream = stream;
    }

    /** Reserves the given number of bytes for operations. */
    public void reserve(long bytes) {
        if (bytes > this.bytes()) {
            stream.synchronize();
            close();
            memory = Optional.of(new DeviceMemory(gpu, "the operations' workspace", bytes));
        }
    }

    /** Number of bytes reserved. */
    long bytes() {
        return memory.map(DeviceMemory::bytes).orElse(0L);
    }

    @Override
    public long address(long bytes) {
        if (bytes > this.bytes()) {
            throw new IllegalStateException("an operation needs " + bytes + " bytes of workspace, " + this.bytes()
                + " are reserved");
        }
        return memory.map(DeviceMemory::address).orElse(0L);
    }

    @Override
    public void close() {
        memory.ifPresent(DeviceMemory::close);
        memory = Optional.empty();
    }
}
