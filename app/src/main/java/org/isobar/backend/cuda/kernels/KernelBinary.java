package org.isobar.backend.cuda.kernels;

/**
 * A compiled kernel source.
 *
 * @param image code for the device (cubin)
 * @param log   output of the compiler: warnings, and what its options ask for
 */
public record KernelBinary(byte[] image, String log) { }
