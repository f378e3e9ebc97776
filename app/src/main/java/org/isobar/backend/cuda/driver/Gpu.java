package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
import static org.bytedeco.cuda.global.cudart.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
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
 * A GPU and its primary context, which other libraries of this process share. A thread makes the context its own before
 * it calls the driver.
 */
public final class Gpu implements AutoCloseable {
    private static final int LONGEST_NAME = 256;

    private final int visible;
    private final int device;
    private final String name;
    private final int capability;
    private final int multiprocessors;
    private final CudaVersion driver;
    private final CUctx_st context = new CUctx_st();
    private volatile boolean forsaken;

    /**
     * A GPU, its context current on this thread.
     *
     * @param ordinal its number among those that this process sees
     * @throws UserException if it is too old
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
        if (capability < CudaReport.OLDEST_CAPABILITY) {
            throw new UserException("--device cuda: " + CudaReport.tooOld(toString()));
        }
        multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        Cuda.check(cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain");
        makeCurrent();
    }

    /** How many GPUs this process sees. */
    public int visible() {
        return visible;
    }

    /** The driver's handle. */
    public int device() {
        return device;
    }

    /** 90 for 9.0. */
    public int capability() {
        return capability;
    }

    /** Streaming multiprocessors. */
    public int multiprocessors() {
        return multiprocessors;
    }

    /** From here on, this thread's calls of the driver are about this GPU. */
    public void makeCurrent() {
        Cuda.check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    }

    /**
     * Frees something, with this context current; whatever comes of it: a device that has failed frees nothing, and of
     * one that was {@link #forsake given up} nobody waits for that.
     */
    public void release(Runnable free) {
        if (!forsaken) {
            cuCtxSetCurrent(context);
            free.run();
        }
    }

    /** It hangs: whoever freed something would wait for ever. From now on all is left to the end of the process. */
    public void forsake() {
        forsaken = true;
    }

    private int attribute(int attribute) {
        int[] value = {0};
        Cuda.check(cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute");
        return value[0];
    }

    private static String name(int device) {
        try (BytePointer text = new BytePointer(LONGEST_NAME)) {
            Cuda.check(cuDeviceGetName(text, LONGEST_NAME, device), "cuDeviceGetName");
            return text.limit(0).getString(); // up to the end that the driver wrote
        }
    }

    /** "NVIDIA H100 80GB HBM3, compute capability 9.0, driver 13.0". */
    @Override
    public String toString() {
        return name + ", compute capability " + capability / 10 + "." + capability % 10 + ", driver " + driver;
    }

    /** Gives the context back; with it goes all that was made in it and is not freed yet. */
    @Override
    public void close() {
        release(() -> cuDevicePrimaryCtxRelease(device)); // fails if the device has
    }
}
