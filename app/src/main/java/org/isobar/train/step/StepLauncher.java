package org.isobar.train.step;

import java.util.HashMap;
import java.util.Map;

import org.isobar.device.Device;
import org.isobar.device.DeviceGraph;
import org.isobar.tensor.Tensor;

/**
 * Runs training steps on a device: operation by operation, or captured once as a graph and launched as a whole, which
 * reduces launch overhead on the host. Batches are in one of a few device buffers in turn
 * ({@link org.isobar.device.HostBuffer#toDevice}); one graph is captured for each buffer.
 */
final class StepLauncher implements AutoCloseable {
    private final Device device;
    private final StepLaunch launch;
    private final Map<Addresses, DeviceGraph> graphs = new HashMap<>();
    private boolean prepared;

    /** The device addresses of a batch. */
    private record Addresses(long input, long target) { }

    StepLauncher(Device device, StepLaunch launch) {
        this.device = device;
        this.launch = launch;
    }

    /**
     * Runs {@code step} on the device. The first step is always issued operation by operation, because it loads
     * what a capture needs, such as kernels. Steps may differ only in these two addresses and in tensor values.
     */
    void run(Tensor input, Tensor target, Runnable step) {
        if (prepared && launch == StepLaunch.GRAPH) {
            graphs.computeIfAbsent(new Addresses(input.address(), target.address()), _ -> device.capture(step))
                .launch();
        } else {
            step.run();
            prepared = true;
        }
    }

    @Override
    public void close() {
        graphs.values().forEach(DeviceGraph::close);
        graphs.clear();
    }
}
