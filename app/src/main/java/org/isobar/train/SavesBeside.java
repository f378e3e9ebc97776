package org.isobar.train;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.checkpoint.Description;
import org.isobar.checkpoint.Retention;
import org.isobar.checkpoint.SaveResult;
import org.isobar.config.CheckpointConfig;
import org.isobar.config.RunConfig;
import org.isobar.fault.UserException;
import org.isobar.telemetry.RunLog;

/** Saves checkpoints on a thread beside training. */
final class SavesBeside implements Saves {
    private static final String APART = "nonfinite"; // beside the directory of checkpoints
    private static final Duration PATIENCE = Duration.ofMinutes(10); // for the slowest rank's disk
    private static final Duration HANGS = PATIENCE.multipliedBy(2);
    private static final Duration NOTABLE = Duration.ofSeconds(1);
    private static final Duration END = Duration.ofSeconds(10);

    private final RunConfig config;
    private final RunLog log;
    private final Interruption interruption;
    private final CheckpointWriter writer;
    private final Snapshot snapshot;
    private FutureTask<SaveResult> writing;
    private Thread thread;
    private long last = System.nanoTime(); // when a checkpoint was last begun

    /**
     * Saves into the run's directory; waits for nothing.
     *
     * @param directory of checkpoints
     * @param run       tells this start of the run from all others, the same on each of its ranks
     * @param snapshot  room for what this rank writes; closed with this
     */
    SavesBeside(RunConfig config, RunLog log, Path directory, String run, Snapshot snapshot,
        Interruption interruption) {
        this.config = config;
        this.log = log;
        this.interruption = interruption;
        this.snapshot = snapshot;
        writer = new CheckpointWriter(directory, run, config.ranks().rank(), config.ranks().worldSize(), PATIENCE);
        interruption.arm();
    }

    @Override
    public Wish wish() {
        if (interruption.isRequested()) {
            return Wish.STOP;
        }
        boolean due = writer.rank() == 0 && isWritten() && options().interval()
            .filter(interval -> System.nanoTime() - last >= interval.toNanos()).isPresent();
        return due ? Wish.SAVE : Wish.NOTHING;
    }

    @Override
    public boolean isDueAfter(long iteration) {
        return options().every().isPresent() && iteration % options().every().getAsInt() == 0;
    }

    @Override
    public void save(long iteration, TrainingState state) {
        long start = System.nanoTime();
        boolean waited = !isWritten();
        await();
        long nanos = System.nanoTime() - start;
        if (waited && nanos > NOTABLE.toNanos() && writer.rank() == 0) {
            log.warn(("Training waited %.1f s for the last checkpoint to be written; save less often, or on a faster "
                + "disk").formatted(nanos / 1e9));
        }
        snapshot.take();
        last = System.nanoTime();
        FutureTask<SaveResult> task = new FutureTask<>(() -> write(iteration, state));
        writing = task;
        thread = Thread.ofPlatform().daemon().name("isobar-checkpoint").start(task);
    }

    private SaveResult write(long iteration, TrainingState state) {
        SaveResult result = writer.write(iteration, snapshot.pieces(), description(state));
        if (writer.rank() == 0) {
            switch (result) {
                case SaveResult.Done _ -> retain(iteration, state);
                case SaveResult.Failed failed ->
                    log.warn(failed.reason() + " (the run goes on, and tries again at the next occasion)");
            }
        }
        return result;
    }

    private void retain(long iteration, TrainingState state) {
        Set<Long> also = new HashSet<>(Set.of(iteration));
        if (state.best() != null) {
            also.add(state.best().iteration());
        }
        new Retention(options().keep()).apply(writer.directory(), also, log::warn);
    }

    @Override
    public SaveResult saveForReplay(long iteration, TrainingState state) {
        await();
        snapshot.take();
        Path apart = writer.directory().resolveSibling(APART);
        return new CheckpointWriter(apart, writer.run(), writer.rank(), writer.ranks(), writer.patience())
            .write(iteration, snapshot.pieces(), description(state));
    }

    private Description description(TrainingState state) {
        return new Description(config.entries(), state);
    }

    @Override
    public Optional<String> await() {
        if (writing == null) {
            return Optional.empty();
        }
        try {
            SaveResult result = writing.get(HANGS.toMillis(), TimeUnit.MILLISECONDS);
            return result instanceof SaveResult.Failed failed ? Optional.of(failed.reason()) : Optional.empty();
        } catch (ExecutionException unexpected) {
            throw unexpected.getCause() instanceof RuntimeException cause ? cause
                : new IllegalStateException(unexpected.getCause());
        } catch (TimeoutException hangs) {
            throw new UserException("rank " + writer.rank() + " still writes a checkpoint into " + writer.directory()
                + " after " + HANGS.toMinutes() + " minutes; see what keeps the disk", hangs);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            return Optional.of("interrupted while a checkpoint was being written");
        }
    }

    private CheckpointConfig options() {
        return config.checkpoint();
    }

    private boolean isWritten() {
        return writing == null || writing.isDone();
    }

    /** A disk that hangs keeps its memory. */
    @Override
    public void close() {
        if (!isWritten()) {
            thread.interrupt();
            try {
                writing.get(END.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException hangs) {
                return;
            } catch (ExecutionException given) {
                // It was given up.
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                return;
            }
        }
        snapshot.close();
    }
}
