package org.isobar.train.saving;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.checkpoint.CheckpointMetadata;
import org.isobar.checkpoint.CheckpointRetention;
import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.checkpoint.SaveResult;
import org.isobar.config.CheckpointConfig;
import org.isobar.config.RunConfig;
import org.isobar.telemetry.RunLog;
import org.isobar.train.step.RunSignal;

/** Saves checkpoints on a thread beside training. */
public final class AsyncCheckpointWriter implements CheckpointSaver {
    private static final String APART = "nonfinite";
    /** For the slowest rank's disk. */
    public static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final Duration NOTABLE = Duration.ofSeconds(1);
    private static final Duration END = Duration.ofSeconds(2); // twice; and what it takes to notice a lost rank: < 12
    private static final Duration BEAT = Duration.ofMillis(100);

    private final RunConfig config;
    private final RunLog log;
    private final StopRequest interruption;
    private final CheckpointWriter writer;
    private final Snapshot snapshot;
    private final Runnable job;
    private FutureTask<SaveResult> writing;
    private Thread thread;
    private long last = System.nanoTime(); // when a checkpoint was last begun
    private OptionalLong best = OptionalLong.empty(); // iteration of the best that is written

    /**
     * Saves what {@code writer} is given; waits for nothing.
     *
     * @param writer   with patience for the slowest rank's disk; this rank has twice as much
     * @param snapshot room for what this rank writes; closed with this
     * @param job      throws if the job cannot go on
     */
    public AsyncCheckpointWriter(RunConfig config, RunLog log, CheckpointWriter writer, Snapshot snapshot,
        StopRequest interruption, Runnable job) {
        this.config = config;
        this.log = log;
        this.writer = writer;
        this.interruption = interruption;
        this.snapshot = snapshot;
        this.job = job;
        interruption.arm();
    }

    @Override
    public RunSignal signal() {
        if (interruption.isRequested()) {
            return RunSignal.STOP;
        }
        boolean due = writer.rank() == 0 && isWritten() && options().interval()
            .filter(interval -> System.nanoTime() - last >= interval.toNanos()).isPresent();
        return due ? RunSignal.SAVE : RunSignal.NONE;
    }

    @Override
    public boolean isDueAfter(long iteration) {
        return options().every().isPresent() && iteration % options().every().getAsInt() == 0;
    }

    @Override
    public void awaitTurn() {
        long start = System.nanoTime();
        await();
        long nanos = System.nanoTime() - start;
        if (nanos > NOTABLE.toNanos() && writer.rank() == 0) {
            log.warn(("Training waited %.1f s for the last checkpoint to be written; save less often, or on a faster "
                + "disk").formatted(nanos / 1e9));
        }
    }

    @Override
    public void save(long iteration, TrainingState state) {
        assert isWritten();
        snapshot.take();
        last = System.nanoTime();
        start(() -> write(iteration, state));
    }

    private void start(Callable<SaveResult> write) {
        writing = new FutureTask<>(write);
        thread = Thread.ofPlatform().daemon().name("isobar-checkpoint").start(writing);
    }

    private SaveResult write(long iteration, TrainingState state) {
        SaveResult result = writer.write(iteration, snapshot.pieces(), description(state));
        boolean givenUp = Thread.currentThread().isInterrupted(); // because the run ends, which it says itself
        if (writer.rank() == 0 && !givenUp) {
            switch (result) {
                case SaveResult.Done _ -> retain(iteration, state);
                case SaveResult.Failed failed ->
                    log.warn(failed.reason() + " (older checkpoints are as they were; the next is due as ever)");
            }
        }
        return result;
    }

    private void retain(long iteration, TrainingState state) {
        Set<Long> also = new HashSet<>(Set.of(iteration));
        if (state.best() != null) {
            also.add(state.best().iteration()); // of an earlier process, maybe
            if (state.best().iteration() == iteration) {
                best = OptionalLong.of(iteration);
            }
        }
        best.ifPresent(also::add); // where a better one could not be written
        new CheckpointRetention(options().keep()).apply(writer.directory(), also, log::warn);
    }

    @Override
    public SaveResult saveForReplay(long iteration, TrainingState state) {
        assert isWritten();
        snapshot.take();
        CheckpointWriter beside = new CheckpointWriter(apart(writer.directory()), writer.run(), writer.rank(),
            writer.ranks(), writer.timeout());
        start(() -> beside.write(iteration, snapshot.pieces(), description(state)));
        return result();
    }

    /** Where {@link #saveForReplay} saves, beside the directory of checkpoints. */
    public static Path apart(Path checkpoints) {
        return checkpoints.resolveSibling(APART);
    }

    private CheckpointMetadata description(TrainingState state) {
        return new CheckpointMetadata(config.entries(), state);
    }

    @Override
    public Optional<String> await() {
        return writing != null && result() instanceof SaveResult.Failed failed ? Optional.of(failed.reason())
            : Optional.empty();
    }

    /** Waits for what is being written, as long as the job can go on. */
    private SaveResult result() {
        Duration limit = writer.timeout().multipliedBy(2);
        long start = System.nanoTime();
        while (System.nanoTime() - start < limit.toNanos()) {
            try {
                return writing.get(BEAT.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException later) {
                job.run();
            } catch (ExecutionException unexpected) {
                throw unexpected.getCause() instanceof RuntimeException cause ? cause
                    : new IllegalStateException(unexpected.getCause());
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                return new SaveResult.Failed("interrupted while a checkpoint was being written");
            }
        }
        throw new IllegalStateException("a checkpoint is still being written into " + writer.directory() + " after "
            + limit.toMillis() / 1000.0 + " s; see what keeps the disk");
    }

    private CheckpointConfig options() {
        return config.checkpoint();
    }

    private boolean isWritten() {
        return writing == null || writing.isDone();
    }

    /** What is nearly written is finished. A disk that hangs keeps its memory. */
    @Override
    public void close() {
        if (isWrittenWithin(END)) {
            snapshot.close();
            return;
        }
        thread.interrupt();
        if (isWrittenWithin(END)) {
            snapshot.close();
        }
    }

    private boolean isWrittenWithin(Duration limit) {
        try {
            if (!isWritten()) {
                writing.get(limit.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (ExecutionException failed) {
            return true;
        } catch (TimeoutException late) {
            return false;
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            return false;
        }
        return true;
    }
}
