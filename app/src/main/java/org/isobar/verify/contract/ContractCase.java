package org.isobar.verify.contract;

import java.util.function.Consumer;

import org.isobar.device.Device;
import org.isobar.tensor.DType;

/**
 * One operation on one set of arguments.
 *
 * @param dtype     type of the products that it belongs to; F32 where the operation knows no other
 * @param operation name of the method of {@link org.isobar.device.ops.TensorOps}
 * @param variant   what sets this case apart from others of the operation and type
 * @param body      prepares arguments, calls the operation and says what is expected
 */
public record ContractCase(DType dtype, String operation, String variant, Consumer<OperationBench> body) {
    /** Operation, type and variant. */
    public String name() {
        return operation + " " + dtype + " " + variant;
    }

    /**
     * Runs the operation on {@code device}.
     *
     * @return a digest of every bit that it wrote, to compare runs that must agree exactly
     * @throws ContractViolation if a result is wrong or memory was touched that is not the operation's to write
     */
    public long run(Device device) {
        try (OperationBench bench = new OperationBench(device, name())) {
            body.accept(bench);
            return bench.finish();
        }
    }
}
