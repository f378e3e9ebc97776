package org.isobar.plan.trace;

import java.util.List;
import java.util.stream.Stream;

/**
 * What one rank issues in one training step.
 *
 * @param events in the order of issue
 */
public record StepTrace(List<StepEvent> events) {
    /** Copies the events. */
    public StepTrace {
        events = List.copyOf(events);
    }

    /** The operations of the compute stream. */
    public Stream<StepEvent.Operation> operations() {
        return events.stream().filter(StepEvent.Operation.class::isInstance).map(StepEvent.Operation.class::cast);
    }

    /** The collectives. */
    public Stream<StepEvent.Issue> collectives() {
        return events.stream().filter(StepEvent.Issue.class::isInstance).map(StepEvent.Issue.class::cast);
    }

    /** Floating-point operations of all products and of attention. */
    public double flops() {
        return operations().mapToDouble(operation -> operation.repeats() * operation.flops()).sum();
    }
}
