package org.isobar.backend.cuda;

import java.util.Map;
import java.util.function.Consumer;

/**
 * What the operations of one GPU stand on: its context, the stream that they are issued to, their kernels and their
 * workspace.
 */
final class CudaStack implements AutoCloseable {
    private final Gpu gpu;
    private final CudaStream compute;
    private final HostWait waits = new HostWait();
    private final KernelLibrary kernels;
    private final KernelLauncher launcher;
    private final DeviceWorkspace workspace;
    private final CudaContext context;

    /**
     * Opens a GPU; this thread will issue the operations.
     *
     * @param ordinal     number of the GPU among those that this process sees
     * @param environment names the directory of compiled kernels
     * @param warnings    told what slows this run but does not stop it
     * @throws org.isobar.fault.UserException if a library is missing
     */
    CudaStack(int ordinal, CudaOptions options, Map<String, String> environment, Consumer<String> warnings) {
        CudaLibraries.load();
        gpu = new Gpu(ordinal);
        try {
            compute = new CudaStream();
            kernels = new KernelLibrary(gpu, new KernelCache(KernelCache.directory(environment), warnings));
            launcher = new KernelLauncher(compute.handle());
            workspace = new DeviceWorkspace(gpu, compute);
            context = new CudaContext(kernels, launcher, workspace, options);
        } catch (RuntimeException failure) {
            gpu.close(); // all else goes with its context
            throw failure;
        }
    }

    Gpu gpu() {
        return gpu;
    }

    /** The stream of the operations. */
    CudaStream compute() {
        return compute;
    }

    /** How the host waits for this GPU. */
    HostWait waits() {
        return waits;
    }

    DeviceWorkspace workspace() {
        return workspace;
    }

    /** What operations are made with. */
    CudaContext context() {
        return context;
    }

    @Override
    public void close() {
        gpu.release(() -> {
            workspace.close();
            launcher.close();
            kernels.close();
            compute.close();
        });
        gpu.close();
    }
}
