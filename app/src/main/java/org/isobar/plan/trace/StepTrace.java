package org.isobar.plan.trace;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.distributed.CollectiveCall.Kind;

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

    /**
     * The step of several micro-batches, of which this is the trace of the last: those before it have the same forward
     * and backward passes, and neither reduce gradients nor update weights.
     */
    public StepTrace accumulated(int microBatches) {
        List<StepEvent> all = new ArrayList<>();
        int numbers = (int) collectives().count();
        Set<Integer> last = collectives().filter(StepTrace::onlyInLast).map(StepEvent.Issue::number)
            .collect(Collectors.toSet());
        for (int earlier = 1; earlier < microBatches; earlier++) {
            for (StepEvent event : events) {
                switch (event) {
                    case StepEvent.Operation operation when operation.phase() != StepEvent.Phase.UPDATE ->
                        all.add(operation);
                    case StepEvent.Issue issue when !last.contains(issue.number()) ->
                        all.add(issue.numbered(issue.number() + earlier * numbers));
                    case StepEvent.Await await when !last.contains(await.number()) ->
                        all.add(new StepEvent.Await(await.number() + earlier * numbers));
                    default -> { }
                }
            }
        }
        all.addAll(events);
        return new StepTrace(all);
    }

    /** This step on a device that computes the gradients of a layer's weight and bias one after the other. */
    public StepTrace separated() {
        List<StepEvent> all = new ArrayList<>();
        for (StepEvent event : events) {
            if (event instanceof StepEvent.Operation operation) {
                operation.separate().forEach(all::add);
            } else {
                all.add(event);
            }
        }
        return new StepTrace(all);
    }

    /** Reductions of gradients and of the loss, and the exchange of signals. */
    private static boolean onlyInLast(StepEvent.Issue issue) {
        return issue.phase() == StepEvent.Phase.UPDATE || issue.group().contains("-") || issue.group().equals("dp")
            || issue.group().equals("cp") && issue.kind() == Kind.ALL_REDUCE;
    }

    /** Floating-point operations of all products and of attention. */
    public double flops() {
        return operations().mapToDouble(operation -> operation.repeats() * operation.flops()).sum();
    }
}
