package org.isobar.train.step;

import java.util.HashMap;
import java.util.Map;

import org.isobar.device.Device;
import org.isobar.device.DeviceGraph;
import org.isobar.tensor.Tensor;

/**
 * Brings steps to a device, operation by operation or, to spare the host that, recorded once and replayed as a whole. A
 * batch arrives in one of a few places in turn ({@link org.isobar.device.HostBuffer#toDevice}), and a recording is of
 * one of them.
 */
final class StepLauncher implements AutoCloseable {
    private final Device device;
    private final Replica.Steps steps;
    private final Map<Places, DeviceGraph> recordings = new HashMap<>();
    private boolean prepared;

    /** Where a batch lies. */
    private record Places(long input, long target) { }

    StepLauncher(Device device, Replica.Steps steps) {
        this.device = device;
        this.steps = steps;
    }

    /**
     * Does {@code step} on the device. The very first is issued by itself: what a recording must find, such as kernels,
     * it makes. All others differ in nothing but these places and in what tensors hold.
     */
    void run(Tensor input, Tensor target, Runnable step) {
        if (prepared && steps == Replica.Steps.REPLAYED) {
            recordings.computeIfAbsent(new Places(input.address(), target.address()), places -> device.record(step))
                .replay();
        } else {
            step.run();
            prepared = true;
        }
    }

    @Override
    public void close() {
        recordings.values().forEach(DeviceGraph::close);
        recordings.clear();
    }
}
