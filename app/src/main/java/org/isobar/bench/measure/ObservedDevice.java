package org.isobar.bench.measure;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Set;

import org.isobar.bench.measure.StepOperation.Phase;
import org.isobar.device.Device;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.TensorOps;

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

    private final Observer observer;
    private Phase phase = Phase.FORWARD;

    private ObservedDevice(Observer observer) {
        this.observer = observer;
    }

    /** Wraps {@code device}, which its owner closes; calls {@code observer} around every operation. */
    static Device of(Device device, Observer observer) {
        ObservedDevice observed = new ObservedDevice(observer);
        TensorOps observedOps = device.ops().wrapped(observed::family);
        return proxy(Device.class, (proxy, method, arguments) ->
            method.getName().equals("ops") ? observedOps : call(device, method, arguments));
    }

    /** Operations of a family that call the observer. */
    private <T> T family(Class<T> family, T ops) {
        return proxy(family, (proxy, method, arguments) -> {
            observer.beforeIssue(operation(method, arguments));
            Object result = call(ops, method, arguments);
            observer.afterIssue();
            return result;
        });
    }

    private StepOperation operation(Method method, Object... arguments) {
        String name = method.getName();
        if (name.equals(FIRST_BACKWARD)) {
            phase = Phase.BACKWARD;
        } else if (name.equals("adam")) {
            phase = Phase.FORWARD; // of the next step
        }
        String epilogue = Arrays.stream(arguments)
            .filter(argument -> argument instanceof Epilogue && argument != Epilogue.NONE)
            .map(argument -> " + " + argument.getClass().getSimpleName()).findAny().orElse("");
        return new StepOperation(name + epilogue, UPDATE.contains(name) ? Phase.UPDATE : phase);
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Object call(Object target, Method method, Object... arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }
}
