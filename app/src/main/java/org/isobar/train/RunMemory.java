package org.isobar.train;

import org.isobar.device.Device;

/**
 * The memory of a run: taken late, when data and peers are known to be good, and freed last, when no collective can
 * touch it any more.
 */
final class RunMemory implements AutoCloseable {
    private final Device device;
    private final MemoryPlan plan;
    private Replica.Memory memory;

    RunMemory(Device device, MemoryPlan plan) {
        this.device = device;
        this.plan = plan;
    }

    /** Takes all that the plan asks for. Called once. */
    Replica.Memory take() {
        device.reserve(plan.footprint());
        memory = Replica.Memory.of(device, plan);
        return memory;
    }

    @Override
    public void close() {
        if (memory != null) {
            memory.close();
        }
    }
}
