package org.isobar.verify;

import org.isobar.device.Device;
import org.isobar.tensor.DType;

/**
 * How far a golden case may be from gold, as ||difference|| / ||gold||. In full single precision, 1e-5 for what comes
 * out and 1e-4 for gradients and weights. Where products take in u > 2^-24, from u:
 * <ul>
 * <li><b>Prediction, scores and losses: 4 u.</b> A number of the prediction is a sum over some dozens of terms, each of
 * two or three rounded factors whose errors have either sign: about u, whatever the number of terms. Blocks add to a
 * stream in single precision, so depth adds little.
 * <li><b>Gradients: 32 u.</b> Those of norms are what is left where larger terms cancel, being orthogonal to the
 * norm's input: their errors stay. <b>Of queries and keys: 128 u.</b> The gradient of a softmax cancels too; and an
 * error of u in a score s is one of s u in a probability, s being some dozens where a case's softmax is far from
 * uniform.
 * <li><b>Weights after some steps: 64 u.</b> Adam divides a gradient by its own size: so the error of a small gradient
 * is that of a weight that began at zero, and two halves of it can come from the two moments.
 * </ul>
 * The same operations with each result rounded once, and otherwise in double precision, stay within 1.4 u, 25 u,
 * 62 u and 41 u (GoldenCaseTest runs them).
 *
 * @param output   of prediction, scores and losses
 * @param gradient of gradients
 * @param scored   of gradients of queries' and keys' weights
 * @param weights  of weights after some steps
 */
record GoldenBounds(double output, double gradient, double scored, double weights) {
    private static final GoldenBounds FULL_SINGLE = new GoldenBounds(1e-5, 1e-4, 1e-4, 1e-4);

    /** Those of a device that computes its products in that type. */
    static GoldenBounds of(Device device, DType compute) {
        double roundoff = Math.max(Numbers.roundoff(compute), device.operandRoundoff(compute));
        return roundoff == Numbers.roundoff(DType.F32) ? FULL_SINGLE
            : new GoldenBounds(4 * roundoff, 32 * roundoff, 128 * roundoff, 64 * roundoff);
    }

    /** That of a weight's gradient. */
    double ofGradient(String weight) {
        return weight.contains("attn.q.") || weight.contains("attn.k.") ? scored : gradient;
    }
}
