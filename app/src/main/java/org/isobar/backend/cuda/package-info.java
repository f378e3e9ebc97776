/**
 * The back end for NVIDIA GPUs: the device, its input buffers and its transfers. Kernels are compiled by NVRTC for the
 * GPU at hand; matrix products use cuBLASLt.
 */
package org.isobar.backend.cuda;
