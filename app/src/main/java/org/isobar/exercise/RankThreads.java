package org.isobar.exercise;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

import org.isobar.backend.host.InProcessCommunicator;
import org.isobar.backend.host.InProcessHub;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.SelfCommunicator;
import org.isobar.exercise.api.RankGroup;

/** Runs the reader's code on several ranks, each a thread, for a limited time. */
final class RankThreads {
    private final Answer answer;
    private final int ranks;
    private final UnaryOperator<Communicator> tap;

    /**
     * Prepares {@code ranks} ranks.
     *
     * @param tap wraps the communicator of each rank
     */
    RankThreads(Answer answer, int ranks, UnaryOperator<Communicator> tap) {
        this.answer = answer;
        this.ranks = ranks;
        this.tap = tap;
    }

    /** Runs code that does not communicate on a thread of its own. */
    static <T> T alone(Answer answer, Function<Answer, T> task) {
        return new RankThreads(answer, 1, communicator -> communicator).run("", _ -> task.apply(answer)).getFirst();
    }

    /** Runs {@code task} on all ranks; its results by rank. */
    <T> List<T> run(Function<RankGroup, T> task) {
        return run("rank %d: ", task);
    }

    private <T> List<T> run(String prefix, Function<RankGroup, T> task) {
        InProcessHub hub = new InProcessHub(answer.limit().dividedBy(2));
        List<Integer> members = IntStream.range(0, ranks).boxed().toList();
        List<FutureTask<T>> tasks = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int rank : members) {
            ProcessGroup group = new ProcessGroup("exercise", members, rank);
            FutureTask<T> work = new FutureTask<>(() -> {
                try (Communicator communicator = ranks == 1 ? new SelfCommunicator(group, (_, _) -> { })
                    : tap.apply(InProcessCommunicator.open(hub, group))) {
                    return task.apply(new RankGroup(communicator));
                }
            });
            tasks.add(work);
            threads.add(Thread.ofPlatform().daemon().name("exercise rank " + rank).start(work));
        }
        return results(prefix, tasks, threads);
    }

    private <T> List<T> results(String prefix, List<FutureTask<T>> tasks, List<Thread> threads) {
        long deadline = System.nanoTime() + answer.limit().toNanos();
        List<T> results = new ArrayList<>();
        List<String> wrong = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            String who = prefix.formatted(rank);
            try {
                results.add(tasks.get(rank).get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS));
            } catch (TimeoutException stuck) {
                StackTraceElement[] stack = threads.get(rank).getStackTrace();
                wrong.add(who + "has not returned after " + answer.limit().toMillis() / 1000.0 + " s"
                    + answer.place(stack).map(place -> "; it is at " + place).orElse(""));
                threads.get(rank).interrupt();
            } catch (ExecutionException failure) {
                if (!(failure.getCause() instanceof WrongAnswerException found)) {
                    throw new IllegalStateException("the check itself failed", failure.getCause());
                }
                found.lines().forEach(line -> wrong.add(who + line));
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted during a check", interrupted);
            }
        }
        if (!wrong.isEmpty()) {
            throw new WrongAnswerException(wrong);
        }
        return results;
    }
}
