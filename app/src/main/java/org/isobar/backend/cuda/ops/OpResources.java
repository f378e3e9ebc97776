package org.isobar.backend.cuda.ops;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelProvider;

/**
 * What the operations of one device share.
 *
 * @param kernels   where they get their kernels from
 * @param launcher  puts them on the compute stream
 * @param workspace memory besides their arguments, free again when the operation that used it has been issued
 * @param options   how they are carried out
 */
public record OpResources(KernelProvider kernels, KernelLauncher launcher, CudaWorkspace workspace,
    CudaOptions options) { }
