package org.isobar.plan.cost;

import org.isobar.plan.trace.StepEvent;

/** Seconds of the operations of a program on one device. */
@FunctionalInterface
public interface OperationCosts {
    /** Seconds of an operation of the compute stream, its launch included. */
    double seconds(StepEvent.Operation operation);
}
