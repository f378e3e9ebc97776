/** CUDA C++ kernels: source, compiler (NVRTC), disk cache, loading and launching. */
package org.isobar.backend.cuda.kernels;
