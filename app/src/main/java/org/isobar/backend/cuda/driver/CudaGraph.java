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
 * A CUDA graph of what was issued to the stream of the operations, and to streams that wait for its events and are
 * waited for by it again. Other threads may call the driver meanwhile: loaders do.
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
            cuStreamEndCapture(stream.handle(), captured); // the stream issues again; what came so far is of no use
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

    /** Waits for nothing: what has been launched keeps what it needs. */
    @Override
    public void close() {
        if (!graph.isNull()) {
            gpu.release(() -> cuGraphExecDestroy(graph)); // fails if the device has
            graph.setNull();
        }
    }
}
