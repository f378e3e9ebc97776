package org.isobar.backend.cpu.ops;

import java.util.stream.LongStream;

import org.isobar.backend.cpu.attention.CpuAttention;
import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.device.Footprint;
import org.isobar.device.ops.TensorOps;

/** Factory of the CPU's tensor operations. Each family of operations has its own class. */
public final class CpuTensorOps {
    private CpuTensorOps() { }

    /** Returns operations that run on the threads of {@code pool}. */
    public static TensorOps of(WorkerPool pool, CpuWorkspace workspace, MatmulCache matmuls) {
        CpuMemory memory = new CpuMemory(pool);
        CpuResidual residual = new CpuResidual(pool, workspace, memory);
        CpuProducts products = new CpuProducts(pool, workspace, matmuls);
        return new TensorOps(memory, products, new CpuLayerNorm(pool, workspace, residual, products),
            new CpuAttention(pool, workspace, matmuls), new CpuImages(pool, workspace), residual,
            new CpuLoss(pool, workspace), new CpuUpdate(pool));
    }

    /** Starts to compile, on another thread, what steps of that footprint would otherwise wait for. */
    public static void compileAhead(Footprint footprint) {
        CpuProducts.compileAhead(footprint.differentiated());
    }

    /** Returns the bytes of workspace that operations of the given footprint need on {@code threads} threads. */
    public static long workspaceBytes(Footprint footprint, int threads) {
        return LongStream.of(FloatView.workspaceBytes(footprint, threads),
            CpuProducts.workspaceBytes(footprint), CpuLoss.workspaceBytes(footprint),
            CpuAttention.workspaceBytes(footprint, threads)).max().orElseThrow();
    }
}
