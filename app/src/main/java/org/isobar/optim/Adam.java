package org.isobar.optim;

import java.lang.foreign.MemorySegment;

import org.isobar.device.AdamConstants;
import org.isobar.device.Arena;
import org.isobar.device.Device;
import org.isobar.device.StepControl;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Adam (Kingma and Ba, 2015) with the tutorial's constants, over all parameters at once. The update reads the learning
 * rate and the step count from memory, not from the call.
 */
public final class Adam {
    /** The tutorial's: betas (0.9, 0.95), epsilon 1e-8, no weight decay. */
    public static final AdamConstants CONSTANTS = new AdamConstants(0.9, 0.95, 1e-8);

    private final Device device;
    private final ParameterStore parameters;
    private final Tensor moment1;
    private final Tensor moment2;
    private final Tensor control; // a StepControl
    private long count;

    /** An optimizer whose moments, zero at first, lie in {@code arena}. */
    public Adam(Device device, ParameterStore parameters, Arena arena) {
        this.device = device;
        this.parameters = parameters;
        moment1 = arena.f32(parameters.elements());
        moment2 = arena.f32(parameters.elements());
        control = arena.allocate(DType.F64, StepControl.SIZE);
        device.ops().fill(moment1, 0);
        device.ops().fill(moment2, 0);
    }

    /** Moves the parameters by their gradients at the given learning rate. */
    public void step(double learningRate) {
        count++;
        device.upload(control, MemorySegment.ofArray(new double[] {learningRate, count, 0, 1, 0, 0}));
        device.ops().adam(parameters.values(), parameters.values(), parameters.gradients(), moment1,
            moment2, control, CONSTANTS);
    }
}
