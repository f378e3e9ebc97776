package org.isobar.backend.cuda.driver;

import static org.bytedeco.cuda.global.cudart.CUDA_ERROR_OUT_OF_MEMORY;
import static org.bytedeco.cuda.global.cudart.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
import static org.bytedeco.cuda.global.cudart.cuGraphDestroy;
import static org.bytedeco.cuda.global.cudart.cuGraphExecDestroy;
import static org.bytedeco.cuda.global.cudart.cuGraphInstantiate;
import static org.bytedeco.cuda.global.cudart.cuGraphLaunch;
import static org.bytedeco.cuda.global.cudart.cuStreamBeginCapture;
import static org.bytedeco.cuda.global.cudart.cuStreamEndCapture;

import org.bytedeco.cuda.cudart.CUgraphExec_st;
import org.bytedeco.cuda.cudart.CUgraph_st;
import org.isobar.device.DeviceGraph;
import org.isobar.device.OutOfDeviceMemoryException;

/**
 * A CUDA graph captured from the compute stream, and from streams that wait for its events and are joined to it again.
 * Other threads, such as data loaders, may call the driver during the capture (thread-local mode), but they must not
 * close another device on the same GPU: on an H100 that invalidates the capture.
 */
public final class CudaGraph implements DeviceGraph {
    private final Gpu gpu;
    private final CudaStream stream;
    private final CUgraphExec_st graph = new CUgraphExec_st();

    /** Captures what {@code operations} issues to {@code stream}; see {@link org.isobar.device.Device#capture}. */
    public CudaGraph(Gpu gpu, CudaStream stream, Runnable operations) {
        this.gpu = gpu;
        this.stream = stream;
        gpu.makeCurrent();
        CUgraph_st captured = capture(operations);
        int result = cuGraphInstantiate(graph, captured, 0);
        cuGraphDestroy(captured);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw new OutOfDeviceMemoryException("not enough memory on the GPU for the graph of a step; leave out "
                + "--enable_cuda_graphs, or take a smaller batch or a smaller model");
        }
        Cuda.check(result, "cuGraphInstantiate of a captured step");
    }

    private CUgraph_st capture(Runnable operations) {
        CUgraph_st captured = new CUgraph_st();
        Cuda.check(cuStreamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
        try {
            operations.run();
        } catch (RuntimeException | Error failure) {
            cuStreamEndCapture(stream.handle(), captured); // ends the capture; the partial graph is discarded
            if (!captured.isNull()) {
                cuGraphDestroy(captured);
            }
            throw failure;
        }
        Cuda.check(cuStreamEndCapture(stream.handle(), captured), "cuStreamEndCapture");
        return captured;
    }

    @Override
    public void launch() {
        gpu.makeCurrent();
        Cuda.check(cuGraphLaunch(graph, stream.handle()), "cuGraphLaunch of a captured step");
    }

    /** Does not wait: launches in flight keep their resources. */
    @Override
    public void close() {
        if (!graph.isNull()) {
            gpu.release(() -> cuGraphExecDestroy(graph)); // returns an error after a device failure; ignored
            graph.setNull();
        }
    }
}
