package org.isobar.verify;

import java.util.function.ToDoubleFunction;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.device.Device;
import org.isobar.tensor.DType;

/**
 * How far a golden case may be from gold, as ||difference|| / ||gold||. In full single precision, 1e-5 for what comes
 * out and 1e-4 for gradients and weights. Where products take in less, {@value #FACTOR} times as far as PyTorch is from
 * gold in the same type (tools/reference/precision.py), tensor by tensor: two computations that round at the same
 * places, but not the same numbers, differ so much. What comes out, and gradients, may always have twice the error of
 * being rounded to the type once.
 *
 * @param output   of prediction, scores and losses
 * @param gradient of a parameter's gradient
 * @param weight   of a parameter after some steps
 */
record GoldenBounds(double output, ToDoubleFunction<String> gradient, ToDoubleFunction<String> weight) {
    private static final double FACTOR = 2;
    private static final GoldenBounds FULL_SINGLE = new GoldenBounds(1e-5, parameter -> 1e-4, parameter -> 1e-4);

    /**
     * Those of a device that computes its products in that type.
     *
     * @param precision of the case: PyTorch's errors by type
     */
    static GoldenBounds of(Device device, DType compute, JsonNode precision) {
        double roundoff = Math.max(Numbers.roundoff(compute), device.operandRoundoff(compute));
        if (roundoff == Numbers.roundoff(DType.F32)) {
            return FULL_SINGLE;
        }
        JsonNode errors = precision.get(compute == DType.F32 ? "TF32" : compute.name());
        return new GoldenBounds(bound(errors.get("outputs"), roundoff),
            parameter -> bound(errors.get("gradients").get(kind(parameter)), roundoff),
            parameter -> bound(errors.get("weights").get(kind(parameter)), Numbers.roundoff(DType.F32)));
    }

    private static double bound(JsonNode error, double least) {
        return FACTOR * Math.max(error.asDouble(), least);
    }

    /** A parameter's name without its block. */
    private static String kind(String parameter) {
        return parameter.replaceFirst("^blocks\\.\\d+\\.", "");
    }
}
