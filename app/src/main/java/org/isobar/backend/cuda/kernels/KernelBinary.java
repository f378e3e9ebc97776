package org.isobar.backend.cuda.kernels;

/**
 * What the compiler made of a source.
 *
 * @param image code for the device (cubin)
 * @param log   what the compiler said: warnings, and whatever its options asked for
 */
public record KernelBinary(byte[] image, String log) { }
