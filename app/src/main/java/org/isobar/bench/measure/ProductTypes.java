package org.isobar.bench.measure;

import org.isobar.device.Device;
import org.isobar.tensor.DType;

/** Names in reports of the operand types of matrix products. */
final class ProductTypes {
    private ProductTypes() { }

    /** Name of the operand type for tensors of type {@code compute}: fp16, bf16, tf32 or fp32. */
    static String name(Device device, DType compute) {
        return switch (compute) {
            case F16 -> "fp16";
            case BF16 -> "bf16";
            case F32 -> device.operandRoundoff(DType.F32) > 0 ? "tf32" : "fp32";
            case F64 -> throw new IllegalArgumentException("no products in " + compute);
        };
    }
}
