package org.isobar.train.memory;

import org.isobar.device.Device;
import org.isobar.train.step.StepMemory;

/**
 * Memory of a run. It is allocated after the data and the connections to the other ranks are checked, and freed last,
 * when no collective can access it.
 */
public final class RunMemory implements AutoCloseable {
    private final Device device;
    private final MemoryPlan plan;
    private StepMemory memory;

    public RunMemory(Device device, MemoryPlan plan) {
        this.device = device;
        this.plan = plan;
    }

    /** The plan of this memory. */
    public MemoryPlan plan() {
        return plan;
    }

    /** Allocates the memory of the plan; called once. */
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
