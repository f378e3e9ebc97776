package org.isobar.verify;

import java.util.function.ToDoubleFunction;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.device.Device;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.NumberFormats;

/**
 * Error bounds of a golden case, as ||difference|| / ||reference||. In full single precision they are 1e-5 for
 * predictions, scores and losses and 1e-4 for gradients and weights. If matrix products round their operands to fewer
 * bits, the bound of a tensor is {@value #FACTOR} times PyTorch's own error in the same type, but at least that of
 * single precision. tools/reference/precision.py measures PyTorch's errors, and shows that two computations that round
 * at the same places do not differ by more.
 *
 * @param output   bound of prediction, scores and losses
 * @param gradient bound of a parameter's gradient, by the parameter's name
 * @param weight   bound of a parameter after training steps, by its name
 */
record GoldenBounds(double output, ToDoubleFunction<String> gradient, ToDoubleFunction<String> weight) {
    private static final double FACTOR = 2;
    private static final double OUTPUT = 1e-5;
    private static final double PARAMETER = 1e-4;

    /**
     * Returns the bounds for a device that computes matrix products in that type.
     *
     * @param precision PyTorch's errors in this case, by type
     */
    static GoldenBounds of(Device device, DType compute, JsonNode precision) {
        double roundoff = Math.max(NumberFormats.roundoff(compute), device.operandRoundoff(compute));
        if (roundoff == NumberFormats.roundoff(DType.F32)) {
            return new GoldenBounds(OUTPUT, parameter -> PARAMETER, parameter -> PARAMETER);
        }
        JsonNode errors = precision.get(compute == DType.F32 ? "TF32" : compute.name());
        return new GoldenBounds(bound(errors.get("outputs"), OUTPUT),
            parameter -> bound(errors.get("gradients").get(kind(parameter)), PARAMETER),
            parameter -> bound(errors.get("weights").get(kind(parameter)), PARAMETER));
    }

    private static double bound(JsonNode error, double least) {
        return Math.max(FACTOR * error.asDouble(), least);
    }

    /** The name of a parameter without its block. */
    private static String kind(String parameter) {
        return parameter.replaceFirst("^blocks\\.\\d+\\.", "");
    }
}
