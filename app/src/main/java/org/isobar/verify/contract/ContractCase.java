package org.isobar.verify.contract;

import java.util.function.Consumer;

import org.isobar.device.Device;

/**
 * One operation on one set of arguments.
 *
 * @param operation name of the method in one of the families of {@link org.isobar.device.ops.TensorOps}
 * @param types     the type of each operand
 * @param variant   distinguishes this case from others of the same operation and type
 * @param body      prepares the arguments, calls the operation and states the expected results
 */
public record ContractCase(String operation, OperandTypes types, String variant, Consumer<OperationBench> body) {
    /** Operation, type and variant. */
    public String name() {
        return operation + " " + types.compute() + " " + variant;
    }

    /**
     * Runs the operation on {@code device}.
     *
     * @return a digest of all output bits, to compare runs that must agree exactly
     * @throws ContractViolation if a result is wrong or the operation wrote to memory that is not its output
     */
    public long run(Device device) {
        try (OperationBench bench = new OperationBench(device, name(), types)) {
            body.accept(bench);
            return bench.finish();
        }
    }
}
