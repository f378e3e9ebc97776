package org.isobar.device.checks;

import static org.isobar.device.checks.OperandChecks.COMPUTE;
import static org.isobar.device.checks.OperandChecks.Extents.flat;
import static org.isobar.device.checks.OperandChecks.Extents.like;

import org.isobar.device.ops.MemoryOps;
import org.isobar.tensor.Tensor;

/** Checks the arguments of {@link MemoryOps}. */
record CheckedMemory(MemoryOps ops) implements MemoryOps {
    @Override
    public void fill(Tensor y, double value) {
        ops.fill(y, value);
    }

    @Override
    public void copy(Tensor y, Tensor x) {
        new OperandChecks("copy")
            .output("y", y, x.dtype(), flat(x.elements()))
            .input("x", x, x.dtype(), like(x))
            .check();
        ops.copy(y, x);
    }

    @Override
    public void cast(Tensor y, Tensor x) {
        new OperandChecks("cast")
            .output("y", y, COMPUTE, flat(x.elements()))
            .input("x", x, COMPUTE, like(x))
            .check();
        ops.cast(y, x);
    }
}
