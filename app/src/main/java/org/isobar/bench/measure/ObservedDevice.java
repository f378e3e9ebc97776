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

/** Lets somebody learn of each operation that is issued on a device, and of the part of the step that it is in. */
final class ObservedDevice {
    private static final Set<String> UPDATE = Set.of("fill", "unscale", "advance", "adam");
    private static final String TURN = "relativeL2LossBackward"; // where a step's forward half ends

    /** Who learns of them, on the thread that issues them. */
    interface Observer {
        /** The next operation is about to be issued. */
        void begins(StepOperation operation);

        /** It has been issued. */
        void issued();
    }

    private final Observer observer;
    private Phase phase = Phase.FORWARD;

    private ObservedDevice(Observer observer) {
        this.observer = observer;
    }

    /** {@code device}, which stays its owner's; {@code observer} learns of every call of its operations. */
    static Device of(Device device, Observer observer) {
        ObservedDevice observed = new ObservedDevice(observer);
        TensorOps ops = device.ops();
        TensorOps announced = proxy(TensorOps.class, (proxy, method, arguments) -> {
            observer.begins(observed.operation(method, arguments));
            Object result = call(ops, method, arguments);
            observer.issued();
            return result;
        });
        return proxy(Device.class, (proxy, method, arguments) ->
            method.getName().equals("ops") ? announced : call(device, method, arguments));
    }

    private StepOperation operation(Method method, Object... arguments) {
        String name = method.getName();
        if (name.equals(TURN)) {
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
