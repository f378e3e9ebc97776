package org.isobar.verify;

import java.util.function.ToDoubleFunction;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.device.Device;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.NumberFormats;

/**
 * How far a golden case may be from gold, as ||difference|| / ||gold||. In full single precision, 1e-5 for what comes
 * out and 1e-4 for gradients and weights. Where products take in less, {@value #FACTOR} times as far as PyTorch is from
 * gold in the same type, tensor by tensor, but never less than in single precision. PyTorch's errors, and that two
 * computations which round at the same places differ by no more, are measured by tools/reference/precision.py.
 *
 * @param output   of prediction, scores and losses
 * @param gradient of a parameter's gradient
 * @param weight   of a parameter after some steps
 */
record GoldenBounds(double output, ToDoubleFunction<String> gradient, ToDoubleFunction<String> weight) {
    private static final double FACTOR = 2;
    private static final double OUTPUT = 1e-5;
    private static final double PARAMETER = 1e-4;

    /**
     * Those of a device that computes its products in that type.
     *
     * @param precision PyTorch's errors in the case, by type
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

    /** A parameter's name without its block. */
    private static String kind(String parameter) {
        return parameter.replaceFirst("^blocks\\.\\d+\\.", "");
    }
}
