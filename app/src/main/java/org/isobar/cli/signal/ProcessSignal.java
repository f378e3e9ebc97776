package org.isobar.cli.signal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;

/**
 * A signal by which a process is asked to end. Java has no public way to hear one; module jdk.unsupported has
 * {@code sun.misc.Signal}, which is reached by its name here, for the compiler warns of it in a way that cannot be
 * switched off.
 */
public enum ProcessSignal {
    /** Of {@code kill}, and of Slurm when it cancels or preempts a job. */
    TERM(15),
    /** Of Ctrl-C. */
    INT(2),
    /** Of Slurm some time before a job's limit, as the submit scripts ask. */
    USR1(10);

    /** What a shell adds to a signal's number for the code of a process that it has ended. */
    public static final int BASE = 128;
    private final int number;

    ProcessSignal(int number) {
        this.number = number;
    }

    /** The exit code of a process that this signal has ended. */
    public int exitCode() {
        return BASE + number;
    }

    /**
     * Has {@code action} run, in a new thread, each time that this signal arrives from now on, instead of what was done
     * before. A process that was started with TERM or INT ignored, as a shell starts a script's background commands
     * with INT, goes on ignoring it.
     */
    public void handle(Runnable action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Object proxy = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler},
                (self, method, arguments) -> {
                    action.run(); // the interface has one method
                    return null;
                });
            lookup.findStatic(signal, "handle", MethodType.methodType(handler, signal, handler)).invoke(
                lookup.findConstructor(signal, MethodType.methodType(void.class, String.class)).invoke(name()), proxy);
        } catch (Throwable unheard) { // what a method handle declares
            throw new IllegalStateException("cannot handle " + this, unheard);
        }
    }

    @Override
    public String toString() {
        return "SIG" + name();
    }
}
