package org.isobar.train.step;

import java.util.HashMap;
import java.util.Map;

import org.isobar.device.Device;
import org.isobar.device.DeviceGraph;
import org.isobar.tensor.Tensor;

/**
 * Runs training steps on a device: operation by operation, or captured once as a graph and launched as a whole, which
 * reduces launch overhead on the host. Batches are in one of a few device buffers in turn
 * ({@link org.isobar.device.HostBuffer#toDevice}); one graph is captured for each buffer and micro-batch.
 */
final class StepLauncher implements AutoCloseable {
    private final Device device;
    private final StepLaunch launch;
    private final Map<Launched, DeviceGraph> graphs = new HashMap<>();
    private boolean prepared;

    /** What differs between the launches of a step: the device addresses of a batch, and its number in the step. */
    private record Launched(long input, long target, int microBatch) { }

    StepLauncher(Device device, StepLaunch launch) {
        this.device = device;
        this.launch = launch;
    }

    /**
     * Runs micro-batch {@code microBatch} of a step on the device. The first step is always issued operation by
     * operation, because it loads what a capture needs, such as kernels. Steps may differ only in the two addresses and
     * in tensor values.
     *
     * @param last whether it is the last micro-batch of the step
     */
    void run(Tensor input, Tensor target, int microBatch, boolean last, Runnable batch) {
        if (prepared && launch == StepLaunch.GRAPH) {
            graphs.computeIfAbsent(new Launched(input.address(), target.address(), microBatch),
                _ -> device.capture(batch)).launch();
        } else {
            batch.run();
            prepared |= last;
        }
    }

    @Override
    public void close() {
        graphs.values().forEach(DeviceGraph::close);
        graphs.clear();
    }
}
