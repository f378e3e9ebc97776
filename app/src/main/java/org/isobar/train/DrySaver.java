package org.isobar.train;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Consumer;

import org.isobar.checkpoint.SaveResult;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.RunSignal;

/**
 * Writes no checkpoints, for a dry run.
 *
 * @param scenario says which signal this rank raises
 * @param every    saves after each so many steps
 * @param phase    receives the name of the part of the run that begins
 */
record DrySaver(DryScenario scenario, OptionalInt every, Consumer<String> phase) implements CheckpointSaver {
    @Override
    public RunSignal signal() {
        return scenario.own();
    }

    @Override
    public boolean isDueAfter(long iteration) {
        return every.isPresent() && iteration % every.getAsInt() == 0;
    }

    @Override
    public void awaitTurn() {
        phase.accept("save");
    }

    @Override
    public void save(long iteration, TrainingState state) { }

    @Override
    public Optional<String> await() {
        return Optional.empty();
    }

    @Override
    public boolean makeRoom(long iteration, TrainingState state) {
        return false;
    }

    @Override
    public SaveResult saveForReplay(long iteration, TrainingState state) {
        return new SaveResult.Done(Path.of(""));
    }

    @Override
    public void close() { }
}
