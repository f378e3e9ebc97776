package org.isobar.train.saving;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
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
import org.isobar.checkpoint.TensorSlice;
import org.isobar.config.CheckpointConfig;
import org.isobar.config.RunConfig;
import org.isobar.device.ProfilerRanges;
import org.isobar.os.FreeSpace;
import org.isobar.telemetry.RunLog;
import org.isobar.train.step.RunSignal;

/** Writes checkpoints in a background thread while training continues. */
public final class AsyncCheckpointWriter implements CheckpointSaver {
    /** How long rank 0 waits for the shards of the other ranks. */
    public static final Duration TIMEOUT = Duration.ofMinutes(10);
    /** Name of the thread that writes a checkpoint. */
    static final String THREAD = "isobar-checkpoint";
    private static final long MARGIN_BYTES = 64 << 10; // for headers, the manifest and the log
    private static final String REPLAY_DIRECTORY = "nonfinite";
    private static final Duration REPORTED_WAIT = Duration.ofSeconds(1);
    /** {@link #close} waits at most twice this long: with the detection of a lost rank, less than 12 s in all. */
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration POLL_INTERVAL = Duration.ofMillis(100);

    private final RunConfig config;
    private final RunLog log;
    private final StopRequest stopRequest;
    private final CheckpointWriter writer;
    private final Snapshot snapshot;
    private final Runnable jobCheck;
    private FutureTask<SaveResult> writing;
    private Thread thread;
    private long lastSave = System.nanoTime(); // start of the last save
    private OptionalLong best; // iteration of the best checkpoint that was written; used on rank 0

    /**
     * Arms the stop request: from then on, a signal leads to a checkpoint before the process ends.
     *
     * @param writer   writes this rank's shard; {@link #await} waits at most twice its timeout. Its directory has no
     *                 checkpoints of iterations after the start of this run
     * @param snapshot buffers for the tensors that this rank writes; closed by {@link #close}
     * @param jobCheck throws if the job has failed; called repeatedly while this waits for a write
     */
    public AsyncCheckpointWriter(RunConfig config, RunLog log, CheckpointWriter writer, Snapshot snapshot,
        StopRequest stopRequest, Runnable jobCheck) {
        this.config = config;
        this.log = log;
        this.writer = writer;
        this.stopRequest = stopRequest;
        this.snapshot = snapshot;
        this.jobCheck = jobCheck;
        best = writer.rank() == 0 ? SavedState.best(writer.directory()) : OptionalLong.empty();
        stopRequest.arm();
    }

    @Override
    public RunSignal signal() {
        if (stopRequest.isRequested()) {
            return RunSignal.STOP;
        }
        boolean due = writer.rank() == 0 && isWritten() && options().interval()
            .filter(interval -> System.nanoTime() - lastSave >= interval.toNanos()).isPresent();
        return due ? RunSignal.SAVE : RunSignal.NONE;
    }

    @Override
    public boolean isDueAfter(long iteration) {
        return options().isDueAfter(iteration);
    }

    @Override
    public void awaitTurn() {
        long start = System.nanoTime();
        await();
        long nanos = System.nanoTime() - start;
        if (nanos > REPORTED_WAIT.toNanos() && writer.rank() == 0) {
            log.warn(("Training waited %.1f s for the last checkpoint to be written; save less often, or on a faster "
                + "disk").formatted(nanos / 1e9));
        }
    }

    @Override
    public void save(long iteration, TrainingState state) {
        assert isWritten();
        try (ProfilerRanges.Range _ = snapshot.ranges().open("copy for checkpoint-" + iteration)) {
            snapshot.take();
        }
        lastSave = System.nanoTime();
        start(() -> write(iteration, state));
    }

    private void start(Callable<SaveResult> write) {
        writing = new FutureTask<>(write);
        thread = Thread.ofPlatform().daemon().name(THREAD).start(writing);
    }

    private SaveResult write(long iteration, TrainingState state) {
        List<TensorSlice> pieces = snapshot.pieces();
        if (writer.rank() == 0 && isFull()) {
            makeRoom(iteration, state);
        }
        SaveResult result;
        try (ProfilerRanges.Range _ = snapshot.ranges().open("write checkpoint-" + iteration)) {
            result = writer.write(iteration, pieces, description(state));
        }
        boolean canceled = Thread.currentThread().isInterrupted(); // by close(): the run ends and reports the reason
        if (writer.rank() == 0 && !canceled) {
            switch (result) {
                case SaveResult.Done _ -> retain(iteration, state);
                case SaveResult.Failed failed ->
                    log.warn(failed.reason() + " (older checkpoints are unchanged; the next one is saved on schedule)");
            }
        }
        return result;
    }

    /** Whether the disk has no room for the shards of all ranks. */
    private boolean isFull() {
        return Files.isDirectory(writer.directory())
            && FreeSpace.of(writer.directory()) < snapshot.allRanks() + MARGIN_BYTES;
    }

    @Override
    public boolean makeRoom(long iteration, TrainingState state) {
        if (writer.rank() > 0) {
            return false;
        }
        List<String> deleted = new CheckpointRetention(options().keep()).makeRoom(writer.directory(),
            kept(iteration, state), log::warn);
        if (!deleted.isEmpty()) {
            log.info("The disk is full: deleted " + String.join(", ", deleted) + " to save checkpoint-" + iteration);
        }
        return !deleted.isEmpty();
    }

    private void retain(long iteration, TrainingState state) {
        if (state.best() != null && state.best().iteration() == iteration) {
            best = OptionalLong.of(iteration);
        }
        new CheckpointRetention(options().keep()).apply(writer.directory(), kept(iteration, state), log::warn);
    }

    /** Iterations whose checkpoints are kept whatever their age. */
    private Set<Long> kept(long iteration, TrainingState state) {
        Set<Long> kept = new HashSet<>(Set.of(iteration));
        if (state.best() != null) {
            kept.add(state.best().iteration()); // an earlier process of the run may have written it
        }
        best.ifPresent(kept::add); // a later, better state may have failed to save
        return kept;
    }

    @Override
    public SaveResult saveForReplay(long iteration, TrainingState state) {
        assert isWritten();
        snapshot.take();
        CheckpointWriter replayWriter = new CheckpointWriter(replayDirectory(writer.directory()), writer.run(),
            writer.rank(), writer.messages(), writer.timeout());
        start(() -> replayWriter.write(iteration, snapshot.pieces(), description(state)));
        return result();
    }

    /** The directory of {@link #saveForReplay}, next to the directory {@code checkpoints}. */
    public static Path replayDirectory(Path checkpoints) {
        return checkpoints.resolveSibling(REPLAY_DIRECTORY);
    }

    private CheckpointMetadata description(TrainingState state) {
        return new CheckpointMetadata(config.entries(), state);
    }

    @Override
    public Optional<String> await() {
        return writing != null && result() instanceof SaveResult.Failed failed ? Optional.of(failed.reason())
            : Optional.empty();
    }

    /** Waits for the write in progress; throws if it takes too long or the job fails meanwhile. */
    private SaveResult result() {
        Duration limit = writer.timeout().multipliedBy(2);
        long start = System.nanoTime();
        while (System.nanoTime() - start < limit.toNanos()) {
            try {
                return writing.get(POLL_INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException pending) {
                jobCheck.run();
            } catch (ExecutionException unexpected) {
                throw unexpected.getCause() instanceof RuntimeException cause ? cause
                    : new IllegalStateException(unexpected.getCause());
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                return new SaveResult.Failed("interrupted while a checkpoint was being written");
            }
        }
        throw new IllegalStateException("a checkpoint is still being written into " + writer.directory() + " after "
            + limit.toMillis() / 1000.0 + " s; check that the disk responds");
    }

    private CheckpointConfig options() {
        return config.checkpoint();
    }

    private boolean isWritten() {
        return writing == null || writing.isDone();
    }

    /**
     * Gives a write in progress a short time to finish, then interrupts it. If it does not end even then, because the
     * disk hangs, the snapshot is not freed: the thread still reads it.
     */
    @Override
    public void close() {
        if (isWrittenWithin(CLOSE_TIMEOUT)) {
            snapshot.close();
            return;
        }
        thread.interrupt();
        if (isWrittenWithin(CLOSE_TIMEOUT)) {
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
        } catch (TimeoutException pending) {
            return false;
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            return false;
        }
        return true;
    }
}
