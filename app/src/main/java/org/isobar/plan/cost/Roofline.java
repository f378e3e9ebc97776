package org.isobar.plan.cost;

import java.util.Optional;

import org.isobar.plan.trace.StepEvent;

/**
 * The time of a matrix product: {@code sqrt((flops / (eta P))^2 + (bytes / (beta W))^2)}, a smooth maximum of the times
 * of arithmetic and of memory.
 *
 * @param rate  attained floating-point operations per second of a large product, eta P
 * @param bytes attained bytes per second, beta W
 */
public record Roofline(double rate, double bytes) {
    /** Seconds of a product, without its launch. */
    public double seconds(StepEvent.Operation product) {
        return seconds(product.flops(), product.bytes());
    }

    /** Seconds of a product of so many floating-point operations that moves so many bytes. */
    double seconds(double operations, double moved) {
        return Math.hypot(operations / rate, moved / bytes);
    }

    /**
     * The roofline with which some products take a measured time together; empty if memory alone takes longer.
     *
     * @param products the products
     * @param seconds  their measured time
     * @param bytes    attained bytes per second
     */
    public static Optional<Roofline> fitted(Iterable<StepEvent.Operation> products, double seconds, double bytes) {
        double low = 1e6;
        double high = 1e18;
        for (int i = 0; i < 100; i++) {
            double middle = Math.sqrt(low * high);
            Roofline guess = new Roofline(middle, bytes);
            double time = 0;
            for (StepEvent.Operation product : products) {
                time += guess.seconds(product);
            }
            if (time > seconds) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return high > 1e17 ? Optional.empty() : Optional.of(new Roofline(high, bytes));
    }
}
