package org.isobar.train.saving;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Pattern;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.device.ops.StepControl;
import org.isobar.fault.UserException;
import org.isobar.train.step.ValidationScores;

/** Reads the {@link TrainingState} of a checkpoint, which may be damaged or forged. */
public final class SavedState {
    /** The training state is consistent, and all files have their sizes. */
    static final IntegrityCheck CONSISTENT = checkpoint -> {
        read(checkpoint);
        return List.of();
    };
    /** All files have their checksums, and the training state is consistent: a run can resume from the checkpoint. */
    public static final IntegrityCheck RESUMABLE = IntegrityCheck.CHECKSUMS.and(CONSISTENT);
    /** The name of an event file, which is in the run's directory: it names no other directory. */
    private static final Pattern EVENT_FILE = Pattern.compile("events\\.out\\.tfevents\\.[^/\\p{Cntrl}]{1,230}");
    /** The name of an engine, which is logged. */
    private static final Pattern ENGINE = Pattern.compile("[\\w .-]{1,100}");

    private final Checkpoint checkpoint;
    private final TrainingState state;

    private SavedState(Checkpoint checkpoint) {
        this.checkpoint = checkpoint;
        state = checkpoint.state(TrainingState.class, Map.of("attention", TrainingState.OWN_KERNELS, "products",
            TrainingState.UNKNOWN));
    }

    /**
     * Reads the state and checks that its values are possible.
     *
     * @throws UserException if a value is missing, of the wrong type or impossible
     */
    public static TrainingState read(Checkpoint checkpoint) {
        SavedState saved = new SavedState(checkpoint);
        saved.checkProgress();
        saved.checkOptimizer();
        saved.checkScores();
        saved.checkWritten();
        saved.require(saved.state.data() != null, "data");
        saved.checkEngine(saved.state.attention(), "attention");
        saved.checkEngine(saved.state.products(), "products");
        return saved.state;
    }

    /**
     * The iteration of the best checkpoint of a run: the newest one that had the best score when it was saved. A later
     * state that had a better score may have failed to save.
     *
     * @param directory of the run's checkpoints; it need not exist
     * @return empty if there is none that can be read
     */
    static OptionalLong best(Path directory) {
        IntegrityCheck isBest = checkpoint -> {
            TrainingState.Best best = read(checkpoint).best();
            return best != null && best.iteration() == checkpoint.iteration() ? List.of() : List.of("not the best");
        };
        return Checkpoint.newest(directory, isBest, _ -> { }).stream().mapToLong(checkpoint -> {
            try (checkpoint) {
                return checkpoint.iteration();
            }
        }).findAny();
    }

    private void checkProgress() {
        long iteration = checkpoint.iteration();
        require(state.epoch() >= 0, "epoch");
        require(state.step() >= 0 && (long) state.epoch() + state.step() <= iteration, "step");
        require(Double.isFinite(state.lossSum()), "lossSum");
        require(state.losses() >= 0 && state.losses() <= state.step(), "losses");
        require(state.badSteps() >= 0 && state.badSteps() <= iteration, "badSteps");
    }

    private void checkOptimizer() {
        double[] control = state.control();
        require(control != null && control.length == StepControl.SIZE
            && Arrays.stream(control).allMatch(Double::isFinite)
            && control[StepControl.COUNT] >= 0 && control[StepControl.SCALE] > 0
            && control[StepControl.GOOD_STEPS] >= 0 && control[StepControl.SKIPPED] >= 0, "control");
        require(state.progress() != null && state.progress().taken() >= 0 && state.progress().skipped() >= 0
            && state.progress().scale() > 0 && Double.isFinite(state.progress().scale()), "progress");
    }

    private void checkScores() {
        ValidationScores scores = state.scores();
        require(scores == null ? state.epoch() == 0 : scores.rmse() != null && scores.rmse().length > 0
            && (scores.persistence() == null || scores.persistence().length == scores.rmse().length), "scores");
        require(state.best() == null ? scores == null
            : state.best().iteration() >= 0 && state.best().iteration() <= checkpoint.iteration(), "best");
    }

    private void checkWritten() {
        TrainingState.Written written = state.written();
        require(written != null && written.log() >= 0 && written.events() >= 0 && written.board() != null
            && EVENT_FILE.matcher(written.board()).matches(), "written");
    }

    private void checkEngine(String name, String key) {
        require(name != null && ENGINE.matcher(name).matches(), key);
    }

    private void require(boolean possible, String key) {
        if (!possible) {
            throw checkpoint.unusable("its training state has an impossible value of " + key);
        }
    }
}
