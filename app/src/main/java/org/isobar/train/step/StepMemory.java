package org.isobar.train.step;

import org.isobar.device.DeviceArena;

/**
 * The device memory of a rank's model: three arenas, by the lifetime of their tensors.
 *
 * @param state   the whole run: parameters, gradients, moments, predictions, scores
 * @param kept    from forward to the end of backward: activations
 * @param scratch within one layer: temporaries
 */
public record StepMemory(DeviceArena state, DeviceArena kept, DeviceArena scratch) implements AutoCloseable {
    @Override
    public void close() {
        scratch.close();
        kept.close();
        state.close();
    }
}
