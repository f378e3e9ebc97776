package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import org.isobar.backend.cuda.driver.CudaLibraries;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.backend.cuda.driver.HostWait;
import org.isobar.backend.cuda.kernels.KernelCache;
import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelLoader;
import org.isobar.backend.cuda.kernels.KernelVariant;

/** The resources of one GPU's operations: its context, the stream that they are issued to, kernels and workspace. */
public final class GpuResources implements AutoCloseable {
    private final Gpu gpu;
    private final CudaStream compute;
    private final HostWait waits = new HostWait();
    private final KernelLoader kernels;
    private final KernelLauncher launcher;
    private final DeviceWorkspace workspace;
    private final OpResources context;

    /**
     * Opens a GPU; the calling thread will issue the operations.
     *
     * @param ordinal     index of the GPU among those that this process sees
     * @param environment names the directory of compiled kernels
     * @param warnings    receives warnings about what slows this run but does not stop it
     * @throws org.isobar.fault.UserException if a library is missing, or the directory of kernels is not private
     */
    public GpuResources(int ordinal, CudaOptions options, Map<String, String> environment, Consumer<String> warnings) {
        CudaLibraries.load();
        gpu = new Gpu(ordinal);
        try {
            compute = new CudaStream();
            kernels = new KernelLoader(gpu, KernelCache.open(environment, warnings));
            launcher = new KernelLauncher(compute.handle());
            workspace = new DeviceWorkspace(gpu, compute);
            context = new OpResources(kernels, launcher, workspace, options);
        } catch (RuntimeException failure) {
            gpu.close(); // all else goes with its context
            throw failure;
        }
    }

    public Gpu gpu() {
        return gpu;
    }

    /** The stream that operations are issued to. */
    public CudaStream compute() {
        return compute;
    }

    /** How the host waits for this GPU. */
    public HostWait waits() {
        return waits;
    }

    public DeviceWorkspace workspace() {
        return workspace;
    }

    /** Starts to compile kernels on other threads: see {@link KernelLoader#compileAhead}. */
    public void compileAhead(List<KernelVariant> variants) {
        kernels.compileAhead(variants);
    }

    /** The resources that operations are created with. */
    public OpResources context() {
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
