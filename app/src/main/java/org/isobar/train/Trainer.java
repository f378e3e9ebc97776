package org.isobar.train;

import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.isobar.config.RunConfig;
import org.isobar.data.Batch;
import org.isobar.device.ProfilerRanges;
import org.isobar.fault.UserException;
import org.isobar.nn.Pass;
import org.isobar.optim.LearningRateSchedule;
import org.isobar.telemetry.ProgressBar;
import org.isobar.tensor.Tensor;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.diagnosis.FirstNonFiniteLayer;
import org.isobar.train.diagnosis.NonFiniteLossException;
import org.isobar.train.engine.AttentionSelection;
import org.isobar.train.engine.ProductSelection;
import org.isobar.train.metrics.RunMetrics;
import org.isobar.train.saving.CheckpointSaver;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.Evaluation;
import org.isobar.train.step.MicroBatches;
import org.isobar.train.step.PhaseClock.Phase;
import org.isobar.train.step.Replica;
import org.isobar.train.step.TrainStep;
import org.isobar.train.step.ValidationScores;
import org.isobar.train.trace.TraceWindow;

/**
 * The training loop: epochs of training steps, each followed by a validation. The loop notifies the classes for
 * checkpoints, profiling, reports and non-finite losses of each event; these decide what to do.
 */
final class Trainer {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final int VALIDATED_STARTS = 4;

    private final RunConfig config;
    private final Replica replica;
    private final LoaderPair data;
    private final RunReport report;
    private final LearningRateSchedule schedule;
    private final Validator validator;
    private final MicroBatches parts;
    private final int epochs;
    private final long stepsPerEpoch;
    private final TrainingProgress progress;
    private final TrainingCheckpoints checkpoints;
    private final ProfilerWindow profiler;
    private final TraceWindow trace;
    private final NonFiniteSteps nonFinite;
    private final Optional<Resumption> resumption;

    /** Trains a replica that has its initial weights or, if the run resumes, those of the checkpoint. */
    Trainer(RunConfig config, Replica replica, LoaderPair data, RunReport report, CheckpointSaver saver,
        Optional<Resumption> resumption, TraceWindow trace) {
        this.trace = trace;
        this.config = config;
        this.replica = replica;
        this.data = data;
        this.report = report;
        this.resumption = resumption;
        schedule = switch (config.training().lrSchedule()) {
            case COSINE -> new LearningRateSchedule.Cosine(config.training().lr(), config.training().numIters(),
                config.training().warmup());
            case NONE -> new LearningRateSchedule.Constant(config.training().lr());
        };
        parts = MicroBatches.of(config);
        stepsPerEpoch = data.training().steps();
        epochs = data.epochs(config.training().numIters());
        progress = new TrainingProgress(stepsPerEpoch, resumption);
        checkpoints = new TrainingCheckpoints(saver, replica.signals(), replica.consensus(), progress, this::state,
            saver == CheckpointSaver.NONE ? _ -> { } : step -> report.checkpoint(step, schedule));
        validator = new Validator(replica, data.validation(), checkpoints::stopRequested);
        profiler = new ProfilerWindow(replica.model().device().ranges(), config.ranks().rank(), stepsPerEpoch);
        nonFinite = new NonFiniteSteps(progress, config.training().onNan(),
            new FiniteLossCheck.Origin(replica, data.training()), report::warn);
    }

    /**
     * Trains the remaining epochs.
     *
     * @throws UserException if a loss is not finite and the run is configured to stop then
     */
    TrainingOutcome run() {
        try {
            TrainingOutcome outcome = trainEpochs();
            trace.runEnds();
            report.runEnds(progress.iterations(), outcome.name());
            return outcome;
        } catch (NonFiniteLossException failure) {
            report.runEnds(failure.step() - 1, "failed");
            throw new UserException(failure.getMessage() + ". " + checkpoints.saveForReplay(failure.step()), failure);
        }
    }

    private TrainingOutcome trainEpochs() {
        report.trainingBegins();
        if (resumption.isEmpty()) {
            scoreBeforeTraining();
        }
        if (resumption.flatMap(Resumption::own).isEmpty()) { // this run has no checkpoint of its own yet
            checkpoints.trainingBegins();
        }
        while (progress.epoch() < epochs) {
            Optional<RunReport.Pace> pace = trainEpoch();
            TrainingState trained = state();
            if (pace.isEmpty()) {
                return checkpoints.stop(trained);
            }
            report.epochTrained(progress, pace.get(), replica.step().progress(), schedule, replica.model().device());
            Optional<ValidationScores> scores = validate();
            if (scores.isEmpty()) {
                return checkpoints.stop(trained);
            }
            config.training().validateRollout().ifPresent(this::rollOut);
            progress.epochDone(scores.get());
            checkpoints.epochEnds();
        }
        Optional<String> unsaved = checkpoints.trainingEnds();
        report.trainingEnds(progress);
        return new TrainingOutcome.Finished(progress.scores(), unsaved);
    }

    private void rollOut(int steps) {
        RollOutValidation.run(config, replica, data.rollOuts(), steps, VALIDATED_STARTS).ifPresentOrElse(
            scores -> report.rolledOut(scores, config.data().dt() * config.data().hoursPerFrame(),
                progress.iterations()),
            () -> report.warn("--validate_rollout " + steps + ": no forecasts of so many steps can be scored; the "
                + "validation years are shorter, or the model does not forecast all variables that it reads"));
    }

    /** The current state of training; waits for all issued steps. */
    private TrainingState state() {
        return progress.state(replica.step().state().control(), report.written(), data.fingerprint(),
            AttentionSelection.current(replica.model().device()).orElse(TrainingState.OWN_KERNELS),
            ProductSelection.current(replica.model().device()).orElse(TrainingState.OWN_KERNELS));
    }

    /** Reports the losses of the initial weights on one training and one validation batch, at step 0 of TensorBoard. */
    private void scoreBeforeTraining() {
        Evaluation training = evaluateFirst(data.training());
        report.scoredBeforeTraining(training, evaluateFirst(data.validation()));
    }

    private Evaluation evaluateFirst(Batch.Source loader) {
        try (Batch.Epoch epoch = loader.epoch(0); Batch batch = epoch.next()) {
            Evaluation evaluation = replica.evaluator().evaluate(batch.input(), batch.target());
            FiniteLossCheck.require(evaluation.batch(), "at step " + progress.iterations(), batch.samples(),
                new FiniteLossCheck.Origin(replica, loader));
            return evaluation;
        }
    }

    /** Trains the remaining steps of the epoch; returns empty if the run must stop. */
    private Optional<RunReport.Pace> trainEpoch() {
        report.epochBegins();
        long start = System.nanoTime();
        int first = progress.step();
        ProgressBar.Plan plan = new ProgressBar.Plan(epochs, Math.toIntExact(stepsPerEpoch),
            config.training().globalBatchSize(), first);
        try (ProgressBar bar = report.progress(plan);
            Batch.Epoch batches = data.training().epoch(progress.epoch(), progress.step())) {
            DeferredLosses losses = new DeferredLosses(
                (loss, step) -> counts(loss, step, batches), progress.losses(),
                (number, loss) -> bar.step(progress.epoch() + 1, progress.stepOfEpoch(number) + 1, loss));
            boolean stop = false;
            while (batches.hasNext() && !stop) {
                trace.stepBegins(progress.iterations() + 1, replica, () -> finishSteps(losses));
                DeferredLosses.Issued issued = step(batches, losses);
                try (ProfilerRanges.Range _ = replica.clock().open(Phase.READ)) {
                    losses.add(issued);
                    if (nonFinite.nextMayEndRun()) {
                        losses.settle();
                    }
                    replica.signals().issued(issued.number());
                }
                report.stepIssued(progress, replica.model().device());
                try (ProfilerRanges.Range _ = replica.clock().open(Phase.CHECKPOINT)) {
                    stop = checkpoints.stepIssued(progress.step() == stepsPerEpoch, () -> finishSteps(losses));
                }
            }
            finishSteps(losses);
            if (stop || checkpoints.stopAgreed()) {
                return Optional.empty();
            }
        }
        return Optional.of(new RunReport.Pace(progress.step() - first,
            (System.nanoTime() - start) / NANOS_PER_SECOND));
    }

    /** Reports a loss; returns whether it counts. */
    private boolean counts(BatchLoss loss, DeferredLosses.Issued step, Batch.Epoch batches) {
        report.stepRead(new RunMetrics.Step(step.number(), progress.epoch() + 1, loss.mean(),
            schedule.at(step.number() - 1)));
        return nonFinite.counts(loss, step, () -> firstNonFiniteLayer(step, batches));
    }

    private void finishSteps(DeferredLosses losses) {
        try (ProfilerRanges.Range _ = replica.clock().open(Phase.READ)) {
            losses.settle();
            replica.signals().settle();
        }
    }

    private Batch next(Batch.Epoch batches) {
        try (ProfilerRanges.Range _ = replica.clock().open(Phase.LOADER)) {
            return batches.next();
        }
    }

    private DeferredLosses.Issued step(Batch.Epoch batches, DeferredLosses losses) {
        IntStream.Builder samples = IntStream.builder();
        for (int part = 0;; part++) {
            try (Batch batch = next(batches)) {
                if (part == 0) {
                    profiler.stepBegins(progress, () -> finishSteps(losses));
                    checkpoints.stepBegins();
                }
                IntStream.of(batch.samples()).forEach(samples);
                Optional<Supplier<BatchLoss>> loss = issue(batch, part);
                if (loss.isPresent()) {
                    progress.stepDone();
                    return new DeferredLosses.Issued(progress.iterations(), samples.build().toArray(),
                        loss.get());
                }
            }
        }
    }

    /** Issues a micro-batch of a step; the last one returns the loss of the step. */
    private Optional<Supplier<BatchLoss>> issue(Batch batch, int part) {
        long done = progress.iterations();
        ProfilerRanges ranges = replica.model().device().ranges();
        try (ProfilerRanges.Range _ = ranges.open("step " + progress.step())) {
            Tensor input;
            Tensor target;
            try (ProfilerRanges.Range _ = ranges.open("data copy in " + progress.step())) {
                input = batch.input();
                target = batch.target();
            }
            TrainStep.Context context = new TrainStep.Context(config.training().seed(), done, part,
                parts.samples(part), schedule.at(done));
            if (part < parts.count() - 1) {
                replica.step().accumulate(input, target, context);
                return Optional.empty();
            }
            return Optional.of(replica.step().issue(input, target, context));
        }
    }

    /** Repeats the forward pass of a step of this epoch to find the first layer whose output is not finite. */
    private Optional<String> firstNonFiniteLayer(DeferredLosses.Issued step, Batch.Epoch batches) {
        batches.close(); // a loader can have only one open epoch
        try (Batch.Epoch again = data.training().epoch(progress.epoch(), progress.stepOfEpoch(step.number()))) {
            Optional<String> found = Optional.empty();
            for (int part = 0; part < parts.count() && found.isEmpty(); part++) {
                try (Batch batch = again.next()) {
                    found = FirstNonFiniteLayer.find(replica, batch.input(),
                        new Pass.Masks(config.training().seed(), step.number() - 1, parts.samples(part)));
                }
            }
            return found;
        }
    }

    /** Scores the model; returns empty if the run must stop. */
    private Optional<ValidationScores> validate() {
        long start = System.nanoTime();
        long done = progress.iterations();
        Optional<ValidationScores> scores = validator.run(
            progress.epoch() == epochs - 1 ? Validator.Baseline.PERSISTENCE : Validator.Baseline.NONE, done,
            (target, prediction) -> report.figure(replica.model().device(), target, prediction, done));
        double seconds = (System.nanoTime() - start) / NANOS_PER_SECOND;
        scores.ifPresent(means -> report.validated(means, seconds, done));
        return scores;
    }
}
