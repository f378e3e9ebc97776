package org.isobar.train;

import java.util.Optional;

import org.isobar.checkpoint.SaveResult;
import org.isobar.config.RunConfig;
import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetFingerprint;
import org.isobar.device.ProfilerRanges;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.fault.UserException;
import org.isobar.nn.Pass;
import org.isobar.optim.LearningRateSchedule;
import org.isobar.telemetry.ProgressBar;
import org.isobar.telemetry.TutorialLines;
import org.isobar.tensor.Tensor;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.diagnosis.FirstNonFiniteLayer;
import org.isobar.train.diagnosis.NonFiniteLossException;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.Replica;
import org.isobar.train.step.RunSignal;
import org.isobar.train.step.ValidationScores;

/** Epochs of training and validation, and what the log and TensorBoard are told of them. */
final class Trainer {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final int PROFILED_EPOCH = 3; // from 0, as the tutorial has it

    private final RunConfig config;
    private final Replica replica;
    private final LoaderPair data;
    private final RunReport report;
    private final LearningRateSchedule schedule;
    private final Validator validator;
    private final IndexSpan samples; // of this replica in the global batch
    private final int epochs;
    private final long stepsPerEpoch;
    private final CheckpointSaver saves;
    private final NonFiniteSteps badSteps;
    private final Optional<Resumption> resumption;
    private final TrainingProgress course;
    private long saved; // iterations when a checkpoint was last begun

    /**
     * The data of a run.
     *
     * @param training   batches that move the weights
     * @param validation batches that score them
     * @param fingerprint tells these data from others
     */
    record LoaderPair(DataLoader training, DataLoader validation, String fingerprint) {
        /** The same; reads some of them. */
        static LoaderPair of(DataLoader training, DataLoader validation) {
            return new LoaderPair(training, validation, "training " + DatasetFingerprint.of(training.dataset())
                + "; validation " + DatasetFingerprint.of(validation.dataset()));
        }

        /**
         * Whole epochs in a number of training steps.
         *
         * @throws UserException if there is not one
         */
        int epochs(long iterations) {
            if (iterations < training.steps()) {
                throw new UserException("num_iters " + iterations + " is less than one epoch of " + training.steps()
                    + " steps: nothing would be trained; raise --num_iters or lower limit_nsamples");
            }
            return Math.toIntExact(iterations / training.steps());
        }
    }

    /**
     * The training of a replica that has its initial weights or, where the run goes on from a checkpoint, those of
     * that.
     */
    Trainer(RunConfig config, Replica replica, LoaderPair data, RunReport report, CheckpointSaver saves,
        Optional<Resumption> resumption) {
        this.config = config;
        this.replica = replica;
        this.data = data;
        this.report = report;
        schedule = switch (config.training().lrSchedule()) {
            case COSINE -> new LearningRateSchedule.Cosine(config.training().lr(), config.training().numIters(),
                config.training().warmup());
            case NONE -> new LearningRateSchedule.Constant(config.training().lr());
        };
        validator = new Validator(replica, data.validation(), saves::wish);
        samples = new IndexSpan(config.grid().coordinate(config.ranks().rank(), Axis.DP), config.grid().size(Axis.DP),
            config.training().globalBatchSize());
        stepsPerEpoch = data.training().steps();
        epochs = data.epochs(config.training().numIters());
        this.saves = saves;
        this.resumption = resumption;
        course = new TrainingProgress(stepsPerEpoch, resumption);
        saved = course.iterations();
        badSteps = new NonFiniteSteps(course, config.training().onNan(),
            new FiniteLossCheck.Origin(replica, data.training().dataset()), report::warn);
    }

    /**
     * Trains all epochs that are left.
     *
     * @throws UserException if a loss is not finite, and that is to end the run
     */
    TrainingOutcome run() {
        try {
            return trainEpochs();
        } catch (NonFiniteLossException bad) {
            throw new UserException(bad.getMessage() + ". " + saveForReplay(bad.step()), bad);
        }
    }

    private TrainingOutcome trainEpochs() {
        report.info(TutorialLines.trainingStarts());
        if (resumption.isEmpty()) {
            scoreBeforeTraining();
        }
        if (resumption.flatMap(Resumption::own).isEmpty()) { // nothing of this run's own to go on from yet
            save();
            awaitAll(); // whether it can be saved is known from the start
        }
        while (course.epoch() < epochs) {
            Optional<Pace> pace = train();
            TrainingState trained = state();
            if (pace.isEmpty()) {
                return stop(trained);
            }
            announce(pace.get());
            Optional<ValidationScores> scores = validate();
            if (scores.isEmpty()) {
                return stop(trained);
            }
            course.epochDone(scores.get());
            save();
        }
        awaitAll(); // one may be lost meanwhile
        course.skipped().total().ifPresent(report::info);
        return new TrainingOutcome.Finished(course.scores());
    }

    /** Keeps where training was before step {@code number} went wrong; tells how to do that step again. */
    private String saveForReplay(long number) {
        course.backBefore(number);
        awaitTurn();
        SaveResult result = saves.saveForReplay(course.iterations(), state());
        boolean failed = replica.isTrueAnywhere(result instanceof SaveResult.Failed); // nobody ends before all know
        return switch (result) {
            case SaveResult.Done done when !failed -> "To see that step again: isobar replay " + done.path();
            case SaveResult.Done _ -> "It cannot be replayed: another rank could not save its share";
            case SaveResult.Failed reason -> "It cannot be replayed: " + reason.reason();
        };
    }

    /** Where training is; waits for the steps so far. */
    private TrainingState state() {
        return course.state(replica.state().control(), report.written(), data.fingerprint());
    }

    private void save() {
        save(state());
        saved = course.iterations();
    }

    private void save(TrainingState state) {
        awaitTurn();
        saves.save(course.iterations(), state);
    }

    /** Nobody goes on before all have written; what failed, the log says. */
    private void awaitAll() {
        saves.await();
        replica.isTrueAnywhere(false);
    }

    /** No rank begins to write before all have written the last: for each other's files they wait a limited time. */
    private void awaitTurn() {
        saves.awaitTurn();
        replica.isTrueAnywhere(false);
    }

    /** Saves what {@code state} describes. Nobody ends before all have saved, or know that one cannot. */
    private TrainingOutcome stop(TrainingState state) {
        if (!course.hasMoved()) {
            return new TrainingOutcome.Lost("no step was done since the start; give it more time");
        }
        save(state);
        Optional<String> failure = saves.await();
        if (replica.isTrueAnywhere(failure.isPresent())) {
            return new TrainingOutcome.Lost("the steps since the last checkpoint are lost: "
                + failure.orElse("another rank could not save its share"));
        }
        return new TrainingOutcome.Interrupted(course.iterations());
    }

    /** The losses of one batch each with the initial weights, at step 0 of TensorBoard. */
    private void scoreBeforeTraining() {
        report.scalar("Loss/train", evaluateFirst(data.training()).loss(), 0);
        Replica.Evaluation validation = evaluateFirst(data.validation());
        report.scalar("Loss/valid", validation.loss(), 0);
        report.scalar("RMSE(u10m)/valid", validation.rmse()[0], 0);
    }

    private Replica.Evaluation evaluateFirst(DataLoader loader) {
        try (DataLoader.Epoch epoch = loader.epoch(0); Batch batch = epoch.next()) {
            Replica.Evaluation evaluation = replica.evaluate(batch.input(), batch.target());
            FiniteLossCheck.require(evaluation.batch(), "at step " + course.iterations(), batch.samples(),
                new FiniteLossCheck.Origin(replica, loader.dataset()));
            return evaluation;
        }
    }

    /** How fast this process was. */
    private record Pace(int steps, double seconds) { }

    /** Trains what is left of the epoch; returns nothing if asked to end. */
    private Optional<Pace> train() {
        long start = System.nanoTime();
        int first = course.step();
        ProgressBar.Plan plan = new ProgressBar.Plan(epochs, Math.toIntExact(stepsPerEpoch),
            config.training().globalBatchSize());
        try (ProgressBar progress = report.progress(plan);
            DataLoader.Epoch batches = data.training().epoch(course.epoch(), course.step())) {
            DeferredLosses late = new DeferredLosses(
                (loss, bad) -> badSteps.counts(loss, bad, () -> diagnose(bad, batches)), course.losses(),
                (number, loss) -> progress.step(course.epoch() + 1, course.stepOfEpoch(number) + 1, loss));
            while (batches.hasNext()) {
                late.add(step(batches, late));
                if (course.step() == 2) {
                    report.info(TutorialLines.forwardMemory(replica.device().memory().highWatermark()));
                }
                if (heed(late) == RunSignal.STOP) {
                    return Optional.empty();
                }
            }
            late.settle();
            if (late.wish() == RunSignal.STOP) {
                return Optional.empty();
            }
        }
        return Optional.of(new Pace(course.step() - first, (System.nanoTime() - start) / NANOS_PER_SECOND));
    }

    /** Saves if it is time, or somebody has wished for it since the last time; returns what was wished. */
    private RunSignal heed(DeferredLosses late) {
        boolean save = saves.isDueAfter(course.iterations()) || late.wish() == RunSignal.SAVE && late.wisher() > saved;
        if (save || late.wish() == RunSignal.STOP) {
            late.settle();
        }
        boolean last = course.step() == stepsPerEpoch; // validation comes first, and a save after it
        if (save && late.wish() != RunSignal.STOP && !last) {
            save();
        }
        return late.wish();
    }

    private DeferredLosses.Issued step(DataLoader.Epoch batches, DeferredLosses late) {
        try (Batch batch = batches.next()) {
            profile(late);
            DeferredLosses.Issued issued = issue(batch);
            course.stepDone();
            return issued;
        }
    }

    /** The first layer whose output is not finite in a step of this epoch: its batch is read again. */
    private Optional<String> diagnose(DeferredLosses.Issued bad, DataLoader.Epoch batches) {
        batches.close(); // one is open at a time
        try (DataLoader.Epoch again = data.training().epoch(course.epoch(), course.stepOfEpoch(bad.number()));
            Batch batch = again.next()) {
            return FirstNonFiniteLayer.firstNonFiniteLayer(replica, batch.input(),
                new Pass.Masks(config.training().seed(), bad.number() - 1, samples));
        }
    }

    private void announce(Pace pace) {
        double stepsPerSecond = pace.steps() / pace.seconds();
        double samplesPerSecond = config.training().globalBatchSize() * stepsPerSecond;
        double loss = course.losses().mean();
        report.info(TutorialLines.epochTime(course.epoch() + 1, pace.seconds(), samplesPerSecond));
        report.info(TutorialLines.trainLoss(loss));
        course.skipped().epoch(replica.progress()).ifPresent(report::info);
        report.scalar("Loss/train", loss, course.iterations());
        report.scalar("Learning Rate", schedule.at(course.iterations()), course.iterations());
        report.scalar("Avg iters per sec", stepsPerSecond, course.iterations());
        report.scalar("Avg samples per sec", samplesPerSecond, course.iterations());
    }

    /** The profiler's window: the fourth epoch but for its last step. What it sees is done when it closes. */
    private void profile(DeferredLosses late) {
        if (course.epoch() != PROFILED_EPOCH) {
            return;
        }
        boolean profiled = config.ranks().rank() == 0;
        if (course.step() == 0 && profiled) {
            replica.device().ranges().startProfiler();
        }
        if (course.step() == stepsPerEpoch - 1) {
            late.settle(); // at all ranks: a loss that is not finite makes them talk
            if (profiled) {
                replica.device().ranges().stopProfiler();
            }
        }
    }

    private DeferredLosses.Issued issue(Batch batch) {
        long done = course.iterations();
        ProfilerRanges ranges = replica.device().ranges();
        try (ProfilerRanges.Range _ = ranges.open("step " + course.step())) {
            Tensor input;
            Tensor target;
            try (ProfilerRanges.Range _ = ranges.open("data copy in " + course.step())) {
                input = batch.input();
                target = batch.target();
            }
            Replica.StepContext context = new Replica.StepContext(config.training().seed(), done, samples,
                schedule.at(done), saves.wish());
            return new DeferredLosses.Issued(done + 1, batch.samples(), replica.issue(input, target, context));
        }
    }

    /** Scores the model; returns nothing if asked to end. */
    private Optional<ValidationScores> validate() {
        long start = System.nanoTime();
        long done = course.iterations();
        Optional<ValidationScores> found = validator.run(
            course.epoch() == epochs - 1 ? Validator.Baseline.PERSISTENCE : Validator.Baseline.NONE, done,
            (target, prediction) -> report.figure(replica.device(), target, prediction, done));
        double seconds = (System.nanoTime() - start) / NANOS_PER_SECOND;
        found.ifPresent(all -> {
            report.info(TutorialLines.validationLoss((float) all.loss()));
            report.info(TutorialLines.validationTime(seconds));
            report.scalar("Loss/valid", all.loss(), done);
            report.scalar("RMSE(u10m)/valid", all.rmse()[0], done);
            report.flush();
        });
        return found;
    }
}
