package org.isobar.device;

/** The type of a device. */
public enum DeviceType {
    /** The host processor. Its tensors are in host memory. */
    CPU,
    /** An NVIDIA GPU. Its tensors are in device memory; the host copies data to and from it. */
    CUDA
}
