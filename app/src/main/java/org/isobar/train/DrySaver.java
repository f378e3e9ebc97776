package org.isobar.train;

import java.nio.file.Path;
import java.util.function.Consumer;

import org.isobar.checkpoint.SaveResult;
import org.isobar.config.CheckpointConfig;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.RunSignal;

/** Decides as a run does that saves checkpoints, but writes none, for a dry run. */
final class DrySaver extends CheckpointSaver.Nothing {
    private final DryScenario scenario;
    private final CheckpointConfig options;
    private final Consumer<String> phase;

    /**
     * Creates a saver.
     *
     * @param scenario says which signal this rank raises
     * @param options  say after which steps it saves
     * @param phase    receives the name of the part of the run that begins
     */
    DrySaver(DryScenario scenario, CheckpointConfig options, Consumer<String> phase) {
        this.scenario = scenario;
        this.options = options;
        this.phase = phase;
    }

    @Override
    public RunSignal signal() {
        return scenario.own();
    }

    @Override
    public boolean isDueAfter(long iteration) {
        return options.isDueAfter(iteration);
    }

    @Override
    public void awaitTurn() {
        phase.accept("save");
    }

    @Override
    public SaveResult saveForReplay(long iteration, TrainingState state) {
        return new SaveResult.Done(Path.of(""));
    }
}
