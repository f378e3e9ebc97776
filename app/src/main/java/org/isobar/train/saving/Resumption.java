package org.isobar.train.saving;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.checkpoint.CheckpointPath;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Resume;
import org.isobar.fault.PlainText;
import org.isobar.fault.UserException;

/**
 * The checkpoint that a run resumes from.
 *
 * @param path      of the checkpoint
 * @param iteration number of training steps done when it was saved
 * @param state     state of the training loop at that iteration
 * @param origin    whether this run or another one saved it
 */
public record Resumption(Path path, long iteration, TrainingState state, Origin origin) {
    /** Which run saved a checkpoint. */
    public enum Origin {
        /** This run: its log and event file are continued. */
        OWN,
        /** Another run: the log and the event file are new. */
        FOREIGN
    }

    /** The checkpoint directory of a run in {@code directory}. */
    public static Path folder(Path directory) {
        return directory.resolve(CheckpointPath.DIRECTORY);
    }

    /**
     * Finds the checkpoint that {@code --resume} selects; called on rank 0.
     *
     * @param check   finds the damage of a checkpoint
     * @param skipped receives a message for each newer checkpoint that is damaged
     * @return empty if the run starts at its first step
     * @throws UserException if there is no such checkpoint, or if its configuration differs in a setting that changes
     *                       the result and {@code --force} is not given
     */
    static Optional<Resumption> find(RunConfig config, IntegrityCheck check, Consumer<String> skipped) {
        Path own = folder(config.output().experimentDirectory());
        Optional<Checkpoint> found = switch (config.checkpoint().resume()) {
            case Resume.Never _ -> Optional.empty();
            case Resume.Auto _ -> newest(own, check, skipped);
            case Resume.From from -> Optional.of(
                new CheckpointPath(from.path()).open(check, skipped));
        };
        return found.map(checkpoint -> {
            try (checkpoint) {
                return checked(checkpoint, config, skipped);
            }
        });
    }

    private static Optional<Checkpoint> newest(Path own, IntegrityCheck check, Consumer<String> skipped) {
        List<String> reasons = new ArrayList<>();
        Optional<Checkpoint> found = Checkpoint.newest(own, check, reasons::add);
        reasons.forEach(skipped);
        if (found.isEmpty() && !reasons.isEmpty()) {
            skipped.accept("No checkpoint in " + own + " is intact: the run starts at its first step");
        }
        return found;
    }

    /** Opens the checkpoint of {@code iteration}, which rank 0 has found, on another rank. */
    static Resumption of(RunConfig config, long iteration) {
        try (Checkpoint checkpoint = Checkpoint.openChecked(path(config, iteration))) {
            return of(checkpoint, config);
        }
    }

    /** The path of the checkpoint of {@code iteration}, which rank 0 has found. */
    static Path path(RunConfig config, long iteration) {
        Path given = config.checkpoint().resume() instanceof Resume.From from ? from.path()
            : folder(config.output().experimentDirectory());
        List<Path> paths = new CheckpointPath(given).all();
        return paths.stream().filter(found -> found.endsWith("checkpoint-" + iteration)).findFirst()
            .orElse(paths.getFirst());
    }

    private static Resumption checked(Checkpoint checkpoint, RunConfig config, Consumer<String> warnings) {
        List<String> changes = config.changesSince(checkpoint.configuration());
        if (!changes.isEmpty()) {
            String what = "resuming from " + checkpoint.path() + " would change the result: "
                + String.join("; ", changes);
            if (!config.checkpoint().force()) {
                throw new UserException(what + ". Use the checkpoint's values, or continue with --force");
            }
            warnings.accept(PlainText.of("Forced: " + what));
        }
        return of(checkpoint, config);
    }

    private static Resumption of(Checkpoint checkpoint, RunConfig config) {
        return new Resumption(checkpoint.path(), checkpoint.iteration(), SavedState.read(checkpoint),
            origin(checkpoint.path(), folder(config.output().experimentDirectory())));
    }

    private static Origin origin(Path checkpoint, Path own) {
        try {
            return Files.isDirectory(own) && checkpoint.toRealPath().getParent().equals(own.toRealPath())
                ? Origin.OWN : Origin.FOREIGN;
        } catch (IOException gone) {
            return Origin.FOREIGN; // the next access reports the error
        }
    }

    /** What this run had logged when it saved the checkpoint; empty if another run saved it. */
    public Optional<TrainingState.Written> own() {
        return origin == Origin.OWN ? Optional.of(state.written()) : Optional.empty();
    }

    /**
     * Checks that the run reads the same data as the run that saved the checkpoint.
     *
     * @param data     fingerprint of the training and validation data
     * @param warnings receives the difference if {@code --force} is given
     * @throws UserException if the data differ and {@code --force} is not given
     */
    public void checkData(RunConfig config, String data, Consumer<String> warnings) {
        if (!state.data().equals(data)) {
            String what = "resuming from " + path + " would change the result: the data have changed (" + data
                + ", were " + state.data() + ")";
            if (!config.checkpoint().force()) {
                throw new UserException(what + ". Give the original data (--data_dir), or continue with --force");
            }
            warnings.accept(PlainText.of("Forced: " + what));
        }
    }
}
