package org.isobar.verify;

import java.util.function.Consumer;

import org.isobar.device.Device;

/**
 * One operation on one set of arguments.
 *
 * @param operation name of the method of {@link org.isobar.device.TensorOps}
 * @param variant   what sets this case apart from others of the operation
 * @param body      prepares arguments, calls the operation and says what is expected
 */
public record Case(String operation, String variant, Consumer<Bench> body) {
    /** Operation and variant. */
    public String name() {
        return operation + " " + variant;
    }

    /**
     * Runs the operation on {@code device}.
     *
     * @return a digest of every bit that it wrote, to compare runs that must agree exactly
     * @throws ContractViolation if a result is wrong or memory was touched that is not the operation's to write
     */
    public long run(Device device) {
        try (Bench bench = new Bench(device, name())) {
            body.accept(bench);
            return bench.finish();
        }
    }
}
