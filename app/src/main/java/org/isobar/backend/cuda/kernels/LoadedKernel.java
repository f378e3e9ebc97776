package org.isobar.backend.cuda.kernels;

import org.bytedeco.cuda.cudart.CUfunc_st;

/**
 * A kernel loaded on the device.
 *
 * @param name     file, function and definitions, for messages
 * @param function the driver's handle
 */
public record LoadedKernel(String name, CUfunc_st function) { }
