/**
 * NVIDIA GPUs through the driver API: arenas of device memory, streams and events, kernels of our own compiled by NVRTC
 * for the device at hand, and cuBLASLt for matrix products.
 */
package org.isobar.backend.cuda;
