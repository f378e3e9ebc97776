package org.isobar.bench.pytorch;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.isobar.fault.UserException;

/**
 * Operand type of matrix products. With bf16, everything else is as under autocast: master weights, norms and the loss
 * are fp32. Attention is fp32, too, because PyTorch's bf16 attention is many times slower on a CPU.
 */
enum Products {
    FP32(ScalarType.Float),
    BF16(ScalarType.BFloat16);

    private final ScalarType type;

    Products(ScalarType type) {
        this.type = type;
    }

    /**
     * Looks up the type by its name in a result.
     *
     * @throws UserException if PyTorch cannot train in that type on a CPU
     */
    static Products of(String name) {
        return switch (name) {
            case "fp32" -> FP32;
            case "bf16" -> BF16;
            default -> throw new UserException("PyTorch's CPU back end trains only in fp32 and bf16, not in " + name);
        };
    }

    /** Converts a tensor to the operand type. */
    Tensor operand(Tensor tensor) {
        return tensor.to(type); // returns the tensor itself if it has that type
    }

    /** Converts a tensor to fp32. */
    Tensor single(Tensor tensor) {
        return tensor.to(ScalarType.Float);
    }
}
