package org.isobar.bench.pytorch;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.isobar.fault.UserException;

/**
 * What matrix products take in. Where that is bf16, the rest is as under autocast: master weights, norms and the loss
 * in fp32; but attention as well, for PyTorch's bf16 attention takes many times as long on a CPU.
 */
enum Products {
    FP32(ScalarType.Float),
    BF16(ScalarType.BFloat16);

    private final ScalarType type;

    Products(ScalarType type) {
        this.type = type;
    }

    /**
     * By its name in a result.
     *
     * @throws UserException if PyTorch does not train in it on a CPU
     */
    static Products of(String name) {
        return switch (name) {
            case "fp32" -> FP32;
            case "bf16" -> BF16;
            default -> throw new UserException("PyTorch's CPU back end trains in fp32 and bf16 alone, not in " + name);
        };
    }

    /** A tensor as an operand of a product. */
    Tensor operand(Tensor tensor) {
        return tensor.to(type); // the same tensor where it is of that type
    }

    /** A tensor for what is done in fp32 always. */
    Tensor single(Tensor tensor) {
        return tensor.to(ScalarType.Float);
    }
}
