package org.isobar.backend.cuda;

/**
 * What the compiler made of a source.
 *
 * @param image code for the device (cubin)
 * @param log   what the compiler said: warnings, and whatever its options asked for
 */
record CompiledKernel(byte[] image, String log) { }
