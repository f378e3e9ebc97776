package org.isobar.backend.cuda.ops;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelProvider;

/**
 * Resources that the operations of one device share.
 *
 * @param kernels   source of compiled kernels
 * @param launcher  launches kernels on the compute stream
 * @param workspace temporary memory, free again once the operation that used it has been issued
 * @param options   how operations are carried out
 */
public record OpResources(KernelProvider kernels, KernelLauncher launcher, CudaWorkspace workspace,
    CudaOptions options) { }
