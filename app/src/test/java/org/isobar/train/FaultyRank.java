package org.isobar.train;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.isobar.cli.Main;

/**
 * The program in a process that, if its environment says so, comes to grief at a certain place: as soon as all methods
 * of FAULT_AT ("Trainer.step VisionTransformer.forward") are on the stack of a thread, FAULT_THREAD or else the main
 * one, it kills, stops or ends itself, as FAULT says.
 */
final class FaultyRank {
    /** What the process says right before it happens. */
    static final String CRY = "fault at ";
    static final int SIGKILL = 9;
    private static final int SIGSTOP = 19;

    private FaultyRank() { }

    /** The program's own arguments. */
    public static void main(String... arguments) {
        String fault = System.getenv("FAULT");
        if (fault != null) {
            List<String> place = List.of(System.getenv("FAULT_AT").split(" "));
            Supplier<Thread> victim = thread(System.getenv("FAULT_THREAD"));
            Runnable act = act(Fault.valueOf(fault));
            Thread.ofPlatform().daemon().name("fault").start(() -> lurk(victim, place, act));
        }
        Main.main(arguments);
    }

    /** How a process ends. */
    enum Fault { KILL, STOP, EXIT }

    private static Runnable act(Fault fault) {
        return switch (fault) {
            case KILL -> signal(SIGKILL);
            case STOP -> signal(SIGSTOP);
            case EXIT -> () -> System.exit(7);
        };
    }

    /** {@code kill(getpid(), number)}, without the time that starting /bin/kill would take. */
    @SuppressWarnings("restricted")
    static Runnable signal(int number) {
        Linker linker = Linker.nativeLinker();
        MethodHandle kill = linker.downcallHandle(linker.defaultLookup().findOrThrow("kill"),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        int self = Math.toIntExact(ProcessHandle.current().pid());
        return () -> {
            try {
                int failed = (int) kill.invokeExact(self, number);
                assert failed == 0;
            } catch (Throwable impossible) {
                throw new AssertionError(impossible);
            }
        };
    }

    /** This thread, or the one of that name, which may come and go; null while there is none. */
    private static Supplier<Thread> thread(String name) {
        Thread main = Thread.currentThread();
        Thread[] some = new Thread[100];
        return name == null ? () -> main : () -> Stream.of(some).limit(main.getThreadGroup().enumerate(some))
            .filter(thread -> thread.getName().equals(name)).findFirst().orElse(null);
    }

    private static void lurk(Supplier<Thread> victim, List<String> place, Runnable act) {
        while (true) {
            Thread thread = victim.get();
            List<String> stack = Stream.of(thread == null ? new StackTraceElement[0] : thread.getStackTrace())
                .map(frame -> frame.getClassName().replaceAll(".*\\.", "") + "." + frame.getMethodName()).toList();
            if (stack.containsAll(place)) {
                System.err.println(CRY + String.join(" > ", stack.reversed()));
                act.run();
                return;
            }
        }
    }
}
