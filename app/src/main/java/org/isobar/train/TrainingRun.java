package org.isobar.train;

import java.nio.file.Path;
import java.util.OptionalLong;

import org.isobar.config.DataConfig;
import org.isobar.config.RunConfig;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetConfig;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;
import org.isobar.fault.UserException;
import org.isobar.os.HostMachine;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.telemetry.TutorialLines;
import org.isobar.vit.VitConfig;

/** One run from configuration to trained weights: opens everything, trains, and closes everything. */
public final class TrainingRun {
    private static final int RANK = 0;

    private final RunConfig config;
    private final Screen screen;
    private final RunLog log;
    private final VitConfig model;
    private final Path directory;

    private TrainingRun(RunConfig config, Screen screen, RunLog log) {
        this.config = config;
        this.screen = screen;
        this.log = log;
        model = config.model();
        directory = config.output().experimentDirectory();
    }

    /** Trains as configured; returns the exit code: 0, 2 after a user's mistake, 1 after an unexpected failure. */
    public static int run(RunConfig config, Screen screen) {
        try (RunLog log = new RunLog(screen)) {
            try {
                new TrainingRun(config, screen, log).run();
                return 0;
            } catch (UserException mistake) {
                log.error(mistake.getMessage());
                return 2;
            } catch (RuntimeException | Error failure) {
                log.error("unexpected failure", failure);
                return 1;
            }
        }
    }

    private void run() {
        log.openFile(directory.resolve("out.log"));
        log.info(TutorialLines.grid(1, 1, 1, 1));
        config.block().forEach(log::info);
        config.warnings().forEach(log::warn);
        DemoData.makeIfMissing(config, log::info);
        try (Device device = config.device().open(config.threads(), log::info)) {
            log.info(TutorialLines.loaderBegins(RANK));
            try (Era5Dataset training = open(config.data().trainPath(), config.data().limitSamples());
                Era5Dataset validation = open(config.data().validPath(), config.data().limitSamplesValid())) {
                MemoryPlan plan = plan(device, training.config());
                try (DataLoader trainingLoader = loader(device, training, true);
                    DataLoader validationLoader = loader(device, validation, false)) {
                    log.info(TutorialLines.loaderReady(RANK));
                    train(device, plan, new Trainer.LoaderPair(trainingLoader, validationLoader));
                }
            }
        }
    }

    private Era5Dataset open(Path path, OptionalLong limit) {
        DataConfig data = config.data();
        Era5Dataset dataset = Era5Dataset.open(new DatasetConfig(path, data.globalMeansPath(), data.globalStdsPath(),
            model.height(), model.width(), model.inChannels(), model.outChannels(), data.dt(), limit));
        log.info(TutorialLines.fileStats(dataset.files().getFirst()));
        limit.ifPresent(most -> log.info(TutorialLines.samplesLimited(dataset.size())));
        log.info(TutorialLines.samplesPerYear(dataset.samplesPerYear()));
        log.info(TutorialLines.dataFound(path.toString(), dataset.size(), model.height(), model.width(),
            model.inChannels()));
        dataset.requireBatch(config.training().globalBatchSize());
        return dataset;
    }

    /** What the run needs, known to fit before any of it is allocated. */
    private MemoryPlan plan(Device device, DatasetConfig data) {
        int batch = config.training().localBatchSize();
        MemoryPlan plan = MemoryPlan.of(model, batch);
        plan.check(2 * DataLoader.bufferBytes(data, batch, config.data().numDataWorkers()),
            device.memory().available());
        return plan;
    }

    private DataLoader loader(Device device, Era5Dataset dataset, boolean shuffle) {
        DistributedSampler sampler = new DistributedSampler(dataset.size(), config.training().globalBatchSize(), 1, 0,
            shuffle, config.training().seed());
        return new DataLoader(device, dataset, sampler, config.data().numDataWorkers());
    }

    private void train(Device device, MemoryPlan plan, Trainer.LoaderPair data) {
        data.epochs(config.training().numIters()); // none: say so before the model is made
        device.reserve(plan.widestRow());
        try (Replica replica = new Replica(device, model, config.training().localBatchSize(),
                Replica.Memory.of(device, plan))) {
            replica.initialize(config.training().seed());
            config.training().initWeights().ifPresent(
                file -> WeightsFile.load(file, replica.parameters(), device));
            log.info(replica.toString());
            log.info(TutorialLines.scaffoldingMemory(device.memory().highWatermark()));
            try (TensorBoardWriter board = TensorBoardWriter.open(directory.resolve("logs"))) {
                train(replica, data, new RunReport(screen, log, board, directory));
            }
        }
    }

    private void train(Replica replica, Trainer.LoaderPair data, RunReport report) {
        Validator.Scores scores = new Trainer(config, replica, data, report).run();
        Path weights = directory.resolve("model.safetensors");
        WeightsFile.save(weights, replica.parameters(), replica.device());
        conclude(scores, weights, report);
    }

    private void conclude(Validator.Scores scores, Path weights, RunReport report) {
        log.info("Memory at the end: anonymous %s GB, mapped file pages %s GB.".formatted(
            TutorialLines.gigabytes(HostMachine.anonymousMemory()),
            TutorialLines.gigabytes(HostMachine.mappedFilePages())));
        if (scores.persistence() != null) {
            double model = scores.rmse()[0];
            double persistence = scores.persistence()[0];
            String floor = DemoData.noiseFloor(config).stream().mapToObj(", noise floor %.4f"::formatted).findAny()
                .orElse("");
            log.info("RMSE(u10m)/valid: model %.4f, persistence %.4f, ratio %.3f%s".formatted(model, persistence,
                model / persistence, floor));
        }
        log.info("Weights: " + weights);
        log.info("Picture: " + report.picture());
        log.info("TensorBoard: tensorboard --logdir " + directory.resolve("logs"));
        log.info(TutorialLines.done(RANK));
    }
}
