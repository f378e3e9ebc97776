package org.isobar.device;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;

import org.isobar.device.ops.TensorOps;

/** Wraps a device so that an observer is called before and after each operation. */
public final class OperationProxy {
    private OperationProxy() { }

    /** Receives operations on the thread that issues them. */
    public interface Observer {
        /** Called before an operation is issued. */
        void beforeIssue(String operation, List<Object> arguments);

        /** Called after the operation was issued. */
        void afterIssue();

        /** The ranges of the device, or others that replace them. */
        default ProfilerRanges ranges(ProfilerRanges own) {
            return own;
        }
    }

    /**
     * Wraps {@code device}, which its owner closes; closing the wrapped device closes it, too.
     *
     * @param type the interface of the wrapped device
     */
    public static <D extends Device> D of(Class<D> type, D device, Observer observer) {
        TensorOps ops = device.ops().wrapped(new TensorOps.FamilyWrapper() {
            @Override
            public <T> T wrap(Class<T> family, T plain) {
                return observed(family, plain, observer);
            }
        });
        ProfilerRanges ranges = observer.ranges(device.ranges());
        return proxy(type, (proxy, method, arguments) -> switch (method.getName()) {
            case "ops" -> ops;
            case "ranges" -> ranges;
            default -> call(device, method, arguments);
        });
    }

    /** Operations of a family that call the observer. */
    private static <T> T observed(Class<T> family, T plain, Observer observer) {
        return proxy(family, (proxy, method, arguments) -> {
            observer.beforeIssue(method.getName(), arguments == null ? List.of() : Arrays.asList(arguments));
            Object result = call(plain, method, arguments);
            observer.afterIssue();
            return result;
        });
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
