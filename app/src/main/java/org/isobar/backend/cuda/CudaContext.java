package org.isobar.backend.cuda;

/**
 * What the operations of one device share.
 *
 * @param kernels   where they get their kernels from
 * @param launcher  puts them on the compute stream
 * @param workspace memory besides their arguments, free again when the operation that used it has been issued
 * @param options   how they are carried out
 */
record CudaContext(Kernels kernels, KernelLauncher launcher, CudaWorkspace workspace, CudaOptions options) { }
