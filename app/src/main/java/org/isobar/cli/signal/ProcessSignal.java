package org.isobar.cli.signal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Proxy;

/**
 * A POSIX signal that asks a process to stop. Java has no public API for signals. {@code sun.misc.Signal} of module
 * jdk.unsupported is called by reflection, because the compiler's warning about it cannot be switched off.
 */
public enum ProcessSignal {
    /** Sent by {@code kill}, and by Slurm when it cancels or preempts a job. */
    TERM(15),
    /** Sent when the terminal closes, for example because a connection was lost. */
    HUP(1),
    /** Sent by Ctrl-C. */
    INT(2),
    /** Sent by Slurm before a job's time limit, as the submit scripts ask. */
    USR1(10);

    /** A process terminated by a signal has, for a shell, this number plus the signal's as its exit code. */
    public static final int BASE = 128;
    private final int number;

    ProcessSignal(int number) {
        this.number = number;
    }

    /** The exit code of a process that this signal has terminated. */
    public int exitCode() {
        return BASE + number;
    }

    /**
     * Runs {@code action} in a new thread whenever this signal arrives. It replaces the previous handler. A process
     * that was started with TERM, HUP or INT ignored keeps ignoring it; nohup starts a command with HUP ignored, and a
     * shell starts background commands of a script with INT ignored.
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
        } catch (Throwable failure) { // method handles declare Throwable
            throw new IllegalStateException("cannot handle " + this, failure);
        }
    }

    @Override
    public String toString() {
        return "SIG" + name();
    }
}
