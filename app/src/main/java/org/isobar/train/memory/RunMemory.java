package org.isobar.train.memory;

import org.isobar.device.Device;
import org.isobar.train.step.StepMemory;

/**
 * The memory of a run: taken late, when data and peers are known to be good, and freed last, when no collective can
 * touch it any more.
 */
public final class RunMemory implements AutoCloseable {
    private final Device device;
    private final MemoryPlan plan;
    private StepMemory memory;

    public RunMemory(Device device, MemoryPlan plan) {
        this.device = device;
        this.plan = plan;
    }

    /** Takes all that the plan asks for. Called once. */
    public StepMemory take() {
        device.reserve(plan.footprint());
        memory = plan.allocate(device);
        return memory;
    }

    @Override
    public void close() {
        if (memory != null) {
            memory.close();
        }
    }
}
