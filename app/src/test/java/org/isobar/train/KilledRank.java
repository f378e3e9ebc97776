package org.isobar.train;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

import org.isobar.cli.Main;

/**
 * The program in a process that kills itself by SIGKILL at a random moment of a phase, if its environment says so:
 * KILL_IN names the {@link Phase}, KILL_AFTER says how many checkpoints it must have begun before, and KILL_SEED what
 * the moment is drawn from.
 */
final class KilledRank {
    /** What the process says right before it happens; the phase and the stack follow. */
    static final String CRY = "killed in ";
    private static final Duration GLANCE = Duration.ofNanos(200_000);
    private static final String WRITER = "isobar-checkpoint";

    private KilledRank() { }

    /** What a process is doing. */
    enum Phase {
        /** A step, whatever is beside it: where disks are slow, there is always a checkpoint being written. */
        STEPS(Duration.ofMillis(30)),
        /** Writing a checkpoint, beside whatever. */
        SAVING(Duration.ofMillis(30)),
        /** Validation. */
        VALIDATION(Duration.ofMillis(100));

        private final Duration length; // about; of steps, that of a few

        Phase(Duration length) {
            this.length = length;
        }
    }

    /** The program's own arguments. */
    public static void main(String... arguments) {
        String phase = System.getenv("KILL_IN");
        if (phase != null) {
            Watch watch = new Watch(Thread.currentThread(), Phase.valueOf(phase),
                new Random(Long.parseLong(System.getenv("KILL_SEED"))));
            int saves = Integer.parseInt(System.getenv("KILL_AFTER"));
            Runnable kill = FaultyRank.signal(FaultyRank.SIGKILL);
            Thread.ofPlatform().daemon().name("killer").start(() -> {
                String where = watch.awaitMoment(saves);
                System.err.println(CRY + phase + ": " + where);
                kill.run();
            });
        }
        Main.main(arguments);
    }

    /** Looks at what the process is doing. */
    private record Watch(Thread main, Phase phase, Random random) {

        /** Returns in the phase, at a random moment of it; what the process was doing. */
        String awaitMoment(int saves) {
            Set<Long> begun = new HashSet<>();
            long most = phase.length.toNanos();
            while (true) {
                LockSupport.parkNanos(GLANCE.toNanos());
                writer().ifPresent(thread -> begun.add(thread.threadId()));
                if (begun.size() >= saves && isNow()) {
                    LockSupport.parkNanos(random.nextLong(most));
                    List<String> stack = calls(main);
                    if (isNow()) {
                        return String.join(" < ", stack);
                    }
                    most = 1 + most / 2; // it was over: do not miss the next
                }
            }
        }

        private boolean isNow() {
            return switch (phase) {
                case STEPS -> calls(main).contains("Trainer.step");
                case SAVING -> writer().filter(thread -> calls(thread).contains("CheckpointWriter.write")).isPresent();
                case VALIDATION -> calls(main).contains("Trainer.validate");
            };
        }

        private static Optional<Thread> writer() {
            Thread[] all = new Thread[Thread.activeCount() + 1];
            int count = Thread.enumerate(all);
            return Stream.of(all).limit(count).filter(thread -> thread.getName().equals(WRITER)).findAny();
        }

        private static List<String> calls(Thread thread) {
            return Stream.of(thread.getStackTrace())
                .map(frame -> frame.getClassName().replaceAll(".*\\.", "") + "." + frame.getMethodName()).toList();
        }
    }
}
