package org.isobar.train;

import org.isobar.config.RunConfig;
import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.device.Ranges;
import org.isobar.device.Span;
import org.isobar.distributed.Axis;
import org.isobar.fault.UserException;
import org.isobar.optim.LearningRateSchedule;
import org.isobar.telemetry.ProgressBar;
import org.isobar.telemetry.TutorialLines;
import org.isobar.tensor.Tensor;

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
    private final Span samples; // of this replica in the global batch
    private final int epochs;
    private final long stepsPerEpoch;
    private final SkippedSteps skipped = new SkippedSteps();
    private long iterations;

    /**
     * The data of a run.
     *
     * @param training   batches that move the weights
     * @param validation batches that score them
     */
    record LoaderPair(DataLoader training, DataLoader validation) {
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

    Trainer(RunConfig config, Replica replica, LoaderPair data, RunReport report) {
        this.config = config;
        this.replica = replica;
        this.data = data;
        this.report = report;
        schedule = switch (config.training().lrSchedule()) {
            case COSINE -> new LearningRateSchedule.Cosine(config.training().lr(), config.training().numIters(),
                config.training().warmup());
            case NONE -> new LearningRateSchedule.Constant(config.training().lr());
        };
        validator = new Validator(replica, data.validation());
        samples = new Span(config.grid().coordinate(config.ranks().rank(), Axis.DP), config.grid().size(Axis.DP),
            config.training().globalBatchSize());
        stepsPerEpoch = data.training().steps();
        epochs = data.epochs(config.training().numIters());
    }

    /** Trains all epochs; returns the scores of the last validation. */
    Validator.Scores run() {
        report.info(TutorialLines.trainingStarts());
        scoreBeforeTraining();
        Validator.Scores scores = null;
        ProgressBar.Plan plan = new ProgressBar.Plan(epochs, Math.toIntExact(stepsPerEpoch),
            config.training().globalBatchSize());
        for (int epoch = 0; epoch < epochs; epoch++) {
            try (ProgressBar progress = report.progress(plan)) {
                train(epoch, progress);
            }
            scores = validate(epoch == epochs - 1 ? Validator.Baseline.PERSISTENCE : Validator.Baseline.NONE);
        }
        skipped.total().ifPresent(report::info);
        return scores;
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
            Replica.Evaluation evaluation = replica.evaluate(batch.input().toDevice(), batch.target().toDevice());
            FiniteLoss.require(evaluation.batch(), "at step " + iterations, batch.samples(),
                new FiniteLoss.Origin(replica, loader.dataset()));
            return evaluation;
        }
    }

    private void train(int epoch, ProgressBar progress) {
        long start = System.nanoTime();
        LateLosses losses = new LateLosses(new FiniteLoss.Origin(replica, data.training().dataset()),
            (step, loss) -> progress.step(epoch + 1, step, loss));
        int step = 0;
        try (DataLoader.Epoch batches = data.training().epoch(epoch)) {
            while (batches.hasNext()) {
                LateLosses.Issued issued;
                try (Batch batch = batches.next()) {
                    profile(epoch, step, losses);
                    issued = step(batch, step);
                }
                step++;
                losses.add(issued);
                if (step == 2) {
                    report.info(TutorialLines.forwardMemory(replica.device().memory().highWatermark()));
                }
            }
            losses.settle();
        }
        double seconds = (System.nanoTime() - start) / NANOS_PER_SECOND;
        double samplesPerSecond = config.training().globalBatchSize() * step / seconds;
        report.info(TutorialLines.epochTime(epoch + 1, seconds, samplesPerSecond));
        report.info(TutorialLines.trainLoss(losses.mean()));
        skipped.epoch(replica.progress()).ifPresent(report::info);
        report.scalar("Loss/train", losses.mean(), iterations);
        report.scalar("Learning Rate", schedule.at(iterations), iterations);
        report.scalar("Avg iters per sec", step / seconds, iterations);
        report.scalar("Avg samples per sec", samplesPerSecond, iterations);
    }

    /** The profiler's window: the fourth epoch but for its last step. What it sees is done when it closes. */
    private void profile(int epoch, int step, LateLosses losses) {
        if (epoch != PROFILED_EPOCH) {
            return;
        }
        boolean profiled = config.ranks().rank() == 0;
        if (step == 0 && profiled) {
            replica.device().ranges().startProfiler();
        }
        if (step == stepsPerEpoch - 1) {
            losses.settle(); // at all ranks: a loss that is not finite makes them talk
            if (profiled) {
                replica.device().ranges().stopProfiler();
            }
        }
    }

    private LateLosses.Issued step(Batch batch, int number) {
        Ranges ranges = replica.device().ranges();
        try (Ranges.Range _ = ranges.open("step " + number)) {
            Tensor input;
            Tensor target;
            try (Ranges.Range _ = ranges.open("data copy in " + number)) {
                input = batch.input().toDevice();
                target = batch.target().toDevice();
            }
            Replica.StepContext context = new Replica.StepContext(config.training().seed(), iterations, samples,
                schedule.at(iterations));
            iterations++;
            return new LateLosses.Issued(iterations, batch.samples(), replica.issue(input, target, context));
        }
    }

    private Validator.Scores validate(Validator.Baseline baseline) {
        long start = System.nanoTime();
        Validator.Scores scores = validator.run(baseline, iterations,
            (target, prediction) -> report.figure(replica.device(), target, prediction, iterations));
        double seconds = (System.nanoTime() - start) / NANOS_PER_SECOND;
        report.info(TutorialLines.validationLoss((float) scores.loss()));
        report.info(TutorialLines.validationTime(seconds));
        report.scalar("Loss/valid", scores.loss(), iterations);
        report.scalar("RMSE(u10m)/valid", scores.rmse()[0], iterations);
        report.flush();
        return scores;
    }
}
