package org.isobar.train.step;

import java.util.HashMap;
import java.util.Map;

import org.isobar.device.Device;
import org.isobar.device.DeviceGraph;
import org.isobar.tensor.Tensor;

/**
 * Runs training steps on a device: issued operation by operation, or captured once as a graph and launched as a whole,
 * which saves the host's time. Batches arrive in a few device buffers in turn
 * ({@link org.isobar.device.HostBuffer#toDevice}); each of these buffers has a graph of its own.
 */
final class StepLauncher implements AutoCloseable {
    private final Device device;
    private final StepLaunch launch;
    private final Map<Places, DeviceGraph> graphs = new HashMap<>();
    private boolean prepared;

    /** Where a batch lies. */
    private record Places(long input, long target) { }

    StepLauncher(Device device, StepLaunch launch) {
        this.device = device;
        this.launch = launch;
    }

    /**
     * Runs {@code step} on the device. The first step is always issued, because it creates what a capture must find,
     * such as loaded kernels. All steps must be alike but for these two addresses and the values in tensors.
     */
    void run(Tensor input, Tensor target, Runnable step) {
        if (prepared && launch == StepLaunch.GRAPH) {
            graphs.computeIfAbsent(new Places(input.address(), target.address()), places -> device.capture(step))
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
