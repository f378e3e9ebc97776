package org.isobar.plan;

import org.isobar.backend.cpu.ops.CpuTensorOps;
import org.isobar.backend.cuda.ops.CudaTensorOps;
import org.isobar.data.DataLoader;
import org.isobar.device.Footprint;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.train.memory.MemoryPlan;

/** Memory of a rank besides its arenas. */
final class UnplannedMemory {
    private static final int GPU_INPUTS = 2; // buffers that batches are copied into
    private static final int CAPABILITY = 90; // of 9.0 and 8.0, the GPUs of the machine files

    private UnplannedMemory() { }

    /** Bytes of the workspace of operations of that footprint. */
    static long workspaceBytes(PlanRequest request, Footprint footprint) {
        return request.machine().isGpu() ? CudaTensorOps.workspaceBytes(CAPABILITY, footprint, request.config().cuda())
            : CpuTensorOps.workspaceBytes(footprint, (int) request.machine().value(MachineKeys.CORES));
    }

    /** Bytes of the copy of a checkpoint. It is in host memory, so it takes none of a GPU. */
    static long checkpointBytes(PlanRequest request, MemoryPlan memory) {
        return request.machine().isGpu() || !request.config().savesCheckpoints() ? 0 : memory.savedBytes();
    }

    /** Bytes of the batches: on a GPU of two, on a CPU of those that the two loaders hold. */
    static long inputBytes(PlanRequest request, int batch) {
        long slots = request.machine().isGpu() ? GPU_INPUTS
            : 2L * DataLoader.slots(request.config().data().numDataWorkers(), batch);
        return Math.multiplyExact(slots * batch, sampleBytes(request));
    }

    /** Bytes of the input and target of one sample. */
    static long sampleBytes(PlanRequest request) {
        return (request.model().input(1).elements() + request.model().prediction(1).elements()) * Float.BYTES;
    }
}
