package org.isobar.verify.contract;

import java.util.HashMap;
import java.util.Map;

import org.isobar.tensor.DType;

/**
 * The type of each operand of a case. Types are per operand, so one operand can have a narrower type than the others.
 *
 * @param compute   type under which cases are reported: that of the operands named first
 * @param byOperand types by the names that operands have in {@link org.isobar.device.ops.TensorOps}; operands that are
 *                  not named are F32
 */
public record OperandTypes(DType compute, Map<String, DType> byOperand) {
    /** Every operand is F32. */
    static final OperandTypes SINGLE = of(DType.F32);

    /** Keeps a copy of the map. */
    public OperandTypes {
        byOperand = Map.copyOf(byOperand);
    }

    /** {@code operands} are of type {@code compute}, all others F32. */
    static OperandTypes of(DType compute, String... operands) {
        return new OperandTypes(compute, Map.of()).with(compute, operands);
    }

    /** These types, with {@code operands} of type {@code dtype}. */
    OperandTypes with(DType dtype, String... operands) {
        Map<String, DType> types = new HashMap<>(byOperand);
        for (String operand : operands) {
            types.put(operand, dtype);
        }
        return new OperandTypes(compute, types);
    }

    /** The type of an operand. */
    DType of(String operand) {
        return byOperand.getOrDefault(operand, DType.F32);
    }
}
