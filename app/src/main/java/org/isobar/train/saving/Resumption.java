package org.isobar.train.saving;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.CheckpointPath;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Resume;
import org.isobar.fault.UserException;

/**
 * The checkpoint that a run goes on from.
 *
 * @param path      of the checkpoint
 * @param iteration after which it was made
 * @param state     of the training loop then
 * @param origin    whose it is
 */
public record Resumption(Path path, long iteration, TrainingState state, Origin origin) {
    /** Whose a checkpoint is. */
    public enum Origin {
        /** This run's: its log and events go on, too. */
        OWN,
        /** Another run's: log and events are new. */
        FOREIGN
    }

    /** Where a run in {@code directory} has its checkpoints. */
    public static Path folder(Path directory) {
        return directory.resolve(CheckpointPath.DIRECTORY);
    }

    /**
     * What {@code --resume} asks for; called on rank 0.
     *
     * @param skipped is told of checkpoints that are newer but not sound
     * @return nothing if the run is to begin with its first step
     * @throws UserException if there is no such checkpoint, or the configuration that it was made with differs in what
     *                       changes the result, unless that is forced
     */
    static Optional<Resumption> find(RunConfig config, Consumer<String> skipped) {
        Path own = folder(config.output().experimentDirectory());
        Optional<Checkpoint> found = switch (config.checkpoint().resume()) {
            case Resume.Never _ -> Optional.empty();
            case Resume.Auto _ -> newest(own, skipped);
            case Resume.From from -> Optional.of(
                new CheckpointPath(from.path()).open(Checkpoint.IntegrityCheck.CHECKSUMS, skipped));
        };
        return found.map(checkpoint -> {
            try (checkpoint) {
                return checked(checkpoint, config, skipped);
            }
        });
    }

    private static Optional<Checkpoint> newest(Path own, Consumer<String> skipped) {
        List<String> reasons = new ArrayList<>();
        Optional<Checkpoint> found = Checkpoint.newest(own, Checkpoint.IntegrityCheck.CHECKSUMS, reasons::add);
        reasons.forEach(skipped);
        if (found.isEmpty() && !reasons.isEmpty()) {
            skipped.accept("No checkpoint in " + own + " is sound: the run begins with its first step");
        }
        return found;
    }

    /** What rank 0 has found, on another rank. */
    static Resumption of(RunConfig config, long iteration) {
        Path given = config.checkpoint().resume() instanceof Resume.From from ? from.path()
            : folder(config.output().experimentDirectory());
        List<Path> paths = new CheckpointPath(given).all();
        Path path = paths.stream().filter(found -> found.endsWith("checkpoint-" + iteration)).findFirst()
            .orElse(paths.getFirst());
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            return of(checkpoint, config);
        }
    }

    private static Resumption checked(Checkpoint checkpoint, RunConfig config, Consumer<String> warnings) {
        List<String> changes = config.changesSince(checkpoint.configuration());
        if (!changes.isEmpty()) {
            String what = "resuming from " + checkpoint.path() + " would change the result: "
                + String.join("; ", changes);
            if (!config.checkpoint().force()) {
                throw new UserException(what + ". Give the values of then, or --force");
            }
            warnings.accept("Forced: " + what);
        }
        return of(checkpoint, config);
    }

    private static Resumption of(Checkpoint checkpoint, RunConfig config) {
        return new Resumption(checkpoint.path(), checkpoint.iteration(), checkpoint.state(TrainingState.class),
            origin(checkpoint.path(), folder(config.output().experimentDirectory())));
    }

    private static Origin origin(Path checkpoint, Path own) {
        try {
            return Files.isDirectory(own) && checkpoint.toRealPath().getParent().equals(own.toRealPath())
                ? Origin.OWN : Origin.FOREIGN;
        } catch (IOException gone) {
            return Origin.FOREIGN; // whoever reads it next says what is wrong
        }
    }

    /** What this run itself had written when it made the checkpoint; nothing if it was another. */
    public Optional<TrainingState.Written> own() {
        return origin == Origin.OWN ? Optional.of(state.written()) : Optional.empty();
    }

    /**
     * Checks that the data are those that the checkpoint's run had.
     *
     * @throws UserException if they are others, unless that is forced
     */
    public void checkData(RunConfig config, String data, Consumer<String> warnings) {
        if (!state.data().equals(data)) {
            String what = "resuming from " + path + " would change the result: the data are others (" + data
                + ", were " + state.data() + ")";
            if (!config.checkpoint().force()) {
                throw new UserException(what + ". Give the data of then (--data_dir), or --force");
            }
            warnings.accept("Forced: " + what);
        }
    }
}
