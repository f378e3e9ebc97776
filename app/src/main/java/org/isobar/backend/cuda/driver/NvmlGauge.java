package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.cuDeviceGetPCIBusId;
import static org.bytedeco.cuda.global.cudart.cuDeviceTotalMem;
import static org.bytedeco.cuda.global.cudart.cuMemGetInfo;
import static org.bytedeco.cuda.global.nvml.NVML_SUCCESS;
import static org.bytedeco.cuda.global.nvml.nvmlDeviceGetHandleByPciBusId_v2;
import static org.bytedeco.cuda.global.nvml.nvmlDeviceGetMemoryInfo;
import static org.bytedeco.cuda.global.nvml.nvmlErrorString;
import static org.bytedeco.cuda.global.nvml.nvmlInit_v2;
import static org.bytedeco.cuda.global.nvml.nvmlShutdown;

import org.bytedeco.cuda.nvml.nvmlDevice_st;
import org.bytedeco.cuda.nvml.nvmlMemory_t;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.isobar.device.MemoryGauge;

/**
 * Memory use of a whole GPU as NVML and {@code nvidia-smi} report it, including other processes and the driver. The
 * high watermark is the highest use at any {@link #sample} or query. Without NVML, and for a slice of a GPU (MIG), the
 * driver reports free memory, but only to threads where the device's context is current.
 */
public final class NvmlGauge implements MemoryGauge, AutoCloseable {
    /** Bytes in use and bytes free. */
    private record Memory(long used, long free) { }

    /** Where the numbers come from. */
    private interface Source extends AutoCloseable {
        Memory read();

        @Override
        void close();
    }

    private final Source source;
    private long highWatermark;

    private NvmlGauge(Source source) {
        this.source = source;
        sample();
    }

    /** The gauge of a device of the driver API. */
    public static NvmlGauge open(int device) {
        try {
            return new NvmlGauge(new Nvml(device));
        } catch (LinkageError | CudaException absent) {
            return new NvmlGauge(new Driver());
        }
    }

    /**
     * Reads the memory use. Call it after every allocation. If it cannot be read, the watermark stays: it is only a
     * number for the log, which must not end a training.
     */
    public void sample() {
        try {
            highWatermark = Math.max(highWatermark, source.read().used());
        } catch (CudaException unreadable) {
            return;
        }
    }

    /** The highest memory use that was read so far. Does not throw. */
    @Override
    public long highWatermark() {
        sample();
        return highWatermark;
    }

    /**
     * Bytes free.
     *
     * @throws CudaException if they cannot be read
     */
    @Override
    public long available() {
        return source.read().free();
    }

    /** Name of the source: NVML or the driver. */
    @Override
    public String toString() {
        return source.toString();
    }

    @Override
    public void close() {
        source.close();
    }

    /** Reads NVML. NVML ignores CUDA_VISIBLE_DEVICES, so the GPU is found by its PCI bus id. */
    private static final class Nvml implements Source {
        private static final int BUS_ID_BYTES = 32;
        /** NVML's total includes memory that the driver reserves, less than 10 %. The sum of two slices is larger. */
        private static final double SAME_DEVICE = 1.1;

        private final nvmlDevice_st device = new nvmlDevice_st();
        private final nvmlMemory_t memory = new nvmlMemory_t();

        Nvml(int cudaDevice) {
            check(nvmlInit_v2(), "nvmlInit_v2");
            try (BytePointer busId = new BytePointer(BUS_ID_BYTES)) {
                Cuda.check(cuDeviceGetPCIBusId(busId, BUS_ID_BYTES, cudaDevice), "cuDeviceGetPCIBusId");
                check(nvmlDeviceGetHandleByPciBusId_v2(busId, device), "nvmlDeviceGetHandleByPciBusId_v2");
                read();
                requireWholeGpu(cudaDevice);
            } catch (CudaException failure) {
                close();
                throw failure;
            }
        }

        /**
         * Refuses a MIG slice. The slices of a GPU have one bus id, and for its handle NVML reports the sums of all
         * slices to a privileged process (documentation of nvmlDeviceGetMemoryInfo; not tried on a GPU).
         */
        private void requireWholeGpu(int cudaDevice) {
            try (SizeTPointer total = new SizeTPointer(1)) {
                Cuda.check(cuDeviceTotalMem(total, cudaDevice), "cuDeviceTotalMem");
                if (memory.total() > SAME_DEVICE * total.get()) {
                    throw new CudaException("NVML reports " + memory.total() + " bytes for a device of " + total.get());
                }
            }
        }

        @Override
        public String toString() {
            return "NVML";
        }

        @Override
        public Memory read() {
            check(nvmlDeviceGetMemoryInfo(device, memory), "nvmlDeviceGetMemoryInfo");
            return new Memory(memory.used(), memory._free());
        }

        @Override
        public void close() {
            memory.close();
            nvmlShutdown();
        }

        private static void check(int result, String call) {
            if (result != NVML_SUCCESS) {
                throw new CudaException(call + ": " + nvmlErrorString(result).getString());
            }
        }
    }

    /** Reads the driver. */
    private static final class Driver implements Source {
        private final SizeTPointer free = new SizeTPointer(1);
        private final SizeTPointer total = new SizeTPointer(1);

        Driver() {
            read();
        }

        @Override
        public String toString() {
            return "the driver";
        }

        @Override
        public Memory read() {
            Cuda.check(cuMemGetInfo(free, total), "cuMemGetInfo");
            return new Memory(total.get() - free.get(), free.get());
        }

        @Override
        public void close() {
            free.close();
            total.close();
        }
    }
}
