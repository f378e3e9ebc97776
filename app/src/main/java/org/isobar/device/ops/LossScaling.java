package org.isobar.device.ops;

/**
 * How the loss scale changes (Micikevicius et al., 2018), with the semantics of PyTorch's {@code GradScaler}.
 *
 * @param growth   factor after {@code interval} consecutive steps without overflow; not applied if the result is
 *                 infinite in
 *                 single precision
 * @param backoff  factor after a step that overflowed
 * @param interval steps without overflow before the scale grows
 */
public record LossScaling(double growth, double backoff, long interval) {
    /** The scale is constant. */
    public static final LossScaling NONE = new LossScaling(1, 1, Long.MAX_VALUE);
    /** PyTorch's defaults. */
    public static final LossScaling DYNAMIC = new LossScaling(2, 0.5, 2000);
}
