package org.isobar.device;

/** What kind of processor a device is. */
public enum DeviceType {
    /** The processor of this machine. Its tensors are in host memory. */
    CPU,
    /** An NVIDIA GPU. Its tensors are in memory of its own, which the host copies to and from. */
    CUDA
}
