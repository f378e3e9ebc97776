package org.isobar.bench.measure;

import org.isobar.device.Device;
import org.isobar.tensor.DType;

/** What matrix products take in, by the names that reports have for it. */
final class ProductTypes {
    private ProductTypes() { }

    /** Of tensors of type {@code compute} on {@code device}: fp16, bf16, tf32 or fp32. */
    static String name(Device device, DType compute) {
        return switch (compute) {
            case F16 -> "fp16";
            case BF16 -> "bf16";
            case F32 -> device.operandRoundoff(DType.F32) > 0 ? "tf32" : "fp32";
            case F64 -> throw new IllegalArgumentException("no products in " + compute);
        };
    }
}
