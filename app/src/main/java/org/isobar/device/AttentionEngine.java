package org.isobar.device;

import java.util.Optional;
import java.util.Set;

import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;

/**
 * A second engine for attention, from a library, beside a device's own kernels. It is not used until it is prepared and
 * enabled. Operations that it cannot compute (with dropout, in another type, of an unprepared shape, on unaligned
 * tensors, a backward pass that it refuses) stay with the device's own kernels.
 */
public interface AttentionEngine {
    /** Which engine computes attention, as {@code --attention} names it. */
    enum Choice {
        /** The library's, where it has proven itself on this device and is faster. */
        AUTO,
        /** The device's own kernels. */
        ISOBAR,
        /** The library's. */
        CUDNN
    }

    /** Whether the engine is installed. */
    boolean isInstalled();

    /**
     * Name and version of the library, such as "cuDNN 9.19.0", and once it has been prepared what it does not compute;
     * "cuDNN" if it is not installed.
     */
    String name();

    /** The device and its driver: what speed and results of this engine depend on, besides the library. */
    String machine();

    /**
     * Makes the plans for all shapes. From now on {@link Device#workspaceBytes} counts their workspace. If there is
     * none for the backward pass, the device's own kernels compute that.
     *
     * @return why the engine cannot compute the forward pass of one of them; empty if it can
     */
    Optional<String> prepare(Set<AttentionShape> shapes, DType compute);

    /** Why the device's own kernels compute the backward pass of a shape prepared in this type; empty if none is. */
    Optional<String> backwardRefusal(DType compute);

    /** Whether operations use this engine. */
    boolean isEnabled();

    /** Uses this engine for operations that are issued from now on, or the device's own kernels. */
    void enable(boolean enabled);
}
