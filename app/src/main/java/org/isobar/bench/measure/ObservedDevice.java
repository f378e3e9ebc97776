package org.isobar.bench.measure;

import java.util.List;
import java.util.Set;

import org.isobar.bench.measure.StepOperation.Phase;
import org.isobar.device.Device;
import org.isobar.device.OperationProxy;
import org.isobar.device.ops.Epilogue;

/** Wraps a device so that an observer is called before and after each operation, with its phase of the step. */
final class ObservedDevice {
    private static final Set<String> UPDATE = Set.of("fill", "unscale", "advance", "adam");
    private static final String FIRST_BACKWARD = "relativeL2LossBackward"; // first operation of backward

    /** Receives operations on the thread that issues them. */
    interface Observer {
        /** Called before an operation is issued. */
        void beforeIssue(StepOperation operation);

        /** Called after the operation was issued. */
        void afterIssue();
    }

    private Phase phase = Phase.FORWARD;

    private ObservedDevice() { }

    /** Wraps {@code device}, which its owner closes; calls {@code observer} around every operation. */
    static Device of(Device device, Observer observer) {
        ObservedDevice observed = new ObservedDevice();
        return OperationProxy.of(Device.class, device, new OperationProxy.Observer() {
            @Override
            public void beforeIssue(String operation, List<Object> arguments) {
                observer.beforeIssue(observed.operation(operation, arguments));
            }

            @Override
            public void afterIssue() {
                observer.afterIssue();
            }
        });
    }

    private StepOperation operation(String name, List<Object> arguments) {
        if (name.equals(FIRST_BACKWARD)) {
            phase = Phase.BACKWARD;
        } else if (name.equals("adam")) {
            phase = Phase.FORWARD; // of the next step
        }
        String epilogue = arguments.stream()
            .filter(argument -> argument instanceof Epilogue && argument != Epilogue.NONE)
            .map(argument -> " + " + argument.getClass().getSimpleName()).findAny().orElse("");
        return new StepOperation(name + epilogue, UPDATE.contains(name) ? Phase.UPDATE : phase);
    }
}
