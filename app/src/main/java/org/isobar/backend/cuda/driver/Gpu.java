package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
import static org.bytedeco.cuda.global.cudart.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
import static org.bytedeco.cuda.global.cudart.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
import static org.bytedeco.cuda.global.cudart.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
import static org.bytedeco.cuda.global.cudart.cuCtxSetCurrent;
import static org.bytedeco.cuda.global.cudart.cuDeviceGet;
import static org.bytedeco.cuda.global.cudart.cuDeviceGetAttribute;
import static org.bytedeco.cuda.global.cudart.cuDeviceGetCount;
import static org.bytedeco.cuda.global.cudart.cuDeviceGetName;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRelease;
import static org.bytedeco.cuda.global.cudart.cuDevicePrimaryCtxRetain;
import static org.bytedeco.cuda.global.cudart.cuDriverGetVersion;
import static org.bytedeco.cuda.global.cudart.cuInit;

import org.bytedeco.cuda.cudart.CUctx_st;
import org.bytedeco.javacpp.BytePointer;
import org.isobar.fault.UserException;

/**
 * A GPU and its primary context, which other libraries in this process share. Each thread makes the context current
 * before it calls the driver.
 */
public final class Gpu implements AutoCloseable {
    private static final int LONGEST_NAME = 256;

    private final int visible;
    private final int device;
    private final String name;
    private final int capability;
    private final int sharedBytes;
    private final int multiprocessors;
    private final CudaVersion driver;
    private final CUctx_st context = new CUctx_st();
    private volatile boolean abandoned;

    /**
     * Opens a GPU and makes its context current on this thread.
     *
     * @param ordinal index of the GPU among those that this process sees
     * @throws UserException if its compute capability is below 8.0
     */
    public Gpu(int ordinal) {
        Cuda.check(cuInit(0), "cuInit");
        int[] number = {0};
        Cuda.check(cuDriverGetVersion(number), "cuDriverGetVersion");
        driver = CudaVersion.of(number[0]);
        Cuda.check(cuDeviceGetCount(number), "cuDeviceGetCount");
        visible = number[0];
        Cuda.check(cuDeviceGet(number, ordinal), "cuDeviceGet");
        device = number[0];
        name = name(device);
        capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
            + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        if (capability < GpuInfo.OLDEST_CAPABILITY) {
            throw new UserException("--device cuda: " + CudaObstacle.tooOld(toString()));
        }
        sharedBytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
        multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        Cuda.check(cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain");
        makeCurrent();
    }

    /** Number of GPUs that this process sees. */
    public int visible() {
        return visible;
    }

    /** The driver's handle ({@code CUdevice}). */
    public int device() {
        return device;
    }

    /** Compute capability: 90 for 9.0. */
    public int capability() {
        return capability;
    }

    /** The most shared memory that a block may have, in bytes. */
    public int sharedBytes() {
        return sharedBytes;
    }

    /** Number of streaming multiprocessors. */
    public int multiprocessors() {
        return multiprocessors;
    }

    /** Makes this GPU's context current on the calling thread. */
    public void makeCurrent() {
        Cuda.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    }

    /**
     * Runs {@code free} with this context current. Errors of a failed device are ignored. Does nothing after
     * {@link #abandon}, because the calls would block.
     */
    public void release(Runnable free) {
        if (!abandoned) {
            cuCtxSetCurrent(context);
            free.run();
        }
    }

    /** Marks this GPU as hung: freeing memory on it would block, so the end of the process frees it. */
    public void abandon() {
        abandoned = true;
    }

    private int attribute(int attribute) {
        int[] value = {0};
        Cuda.check(cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute");
        return value[0];
    }

    private static String name(int device) {
        try (BytePointer text = new BytePointer(LONGEST_NAME)) {
            Cuda.check(cuDeviceGetName(text, LONGEST_NAME, device), "cuDeviceGetName");
            return text.limit(0).getString(); // up to the terminating zero
        }
    }

    /** "NVIDIA H100 80GB HBM3, compute capability 9.0, driver 13.0". */
    @Override
    public String toString() {
        return name + ", compute capability " + capability / 10 + "." + capability % 10 + ", driver " + driver;
    }

    /** Releases the context; everything that was allocated in it and not freed goes with it. */
    @Override
    public void close() {
        release(() -> cuDevicePrimaryCtxRelease(device)); // returns an error after a device failure; ignored
    }
}
