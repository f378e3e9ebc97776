/** CUDA C++ kernels on their way to the GPU: source, compiler (NVRTC), cache on disk, loading, launching. */
package org.isobar.backend.cuda.kernels;
