package org.isobar.verify.layout;

import java.lang.foreign.MemorySegment;

import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Maximum of a number over all ranks. */
final class RankMaximum {
    private RankMaximum() { }

    /**
     * Returns the largest {@code value} of all ranks, which all call this together; takes its buffer from the arena.
     */
    static double of(Device device, Communicators communicators, double value, DeviceArena arena) {
        try (DeviceArena.Scope scope = arena.scope()) {
            Tensor buffer = scope.allocate(DType.F64, 1);
            device.upload(buffer, MemorySegment.ofArray(new double[] {value}));
            communicators.along(Axis.values()).allReduce(buffer, Reduction.MAX).await();
            double[] largest = new double[1];
            device.download(MemorySegment.ofArray(largest), buffer);
            return largest[0];
        }
    }
}
