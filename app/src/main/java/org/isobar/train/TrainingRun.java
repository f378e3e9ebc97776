package org.isobar.train;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

import org.isobar.backend.Backend;
import org.isobar.backend.DeviceOptions;
import org.isobar.config.DataConfig;
import org.isobar.config.DataLoaderConfig;
import org.isobar.config.RunConfig;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetConfig;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.data.Normalizing;
import org.isobar.device.Device;
import org.isobar.device.DeviceException;
import org.isobar.distributed.Axis;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.optim.Adam;
import org.isobar.os.HostMachine;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.telemetry.TutorialLines;
import org.isobar.vit.VitConfig;

/** One rank's part of a run, from configuration to trained weights: opens everything, trains, closes everything. */
public final class TrainingRun {
    private final RunConfig config;
    private final JobSecret secret;
    private final Map<String, String> environment;
    private final Screen screen;
    private final RunLog log;
    private final VitConfig model;
    private final Path directory;
    private final int rank;

    private TrainingRun(RunConfig config, JobSecret secret, Map<String, String> environment, Screen screen,
        RunLog log) {
        this.config = config;
        this.secret = secret;
        this.environment = environment;
        this.screen = screen;
        this.log = log;
        model = config.model();
        directory = config.output().experimentDirectory();
        rank = config.ranks().rank();
    }

    /**
     * Trains as configured; returns the exit code: 0, 2 after a user's mistake, 1 after any other failure.
     *
     * @param secret      proves to the job's other processes that this is one of them
     * @param environment of this process, in which the device is opened
     */
    public static int run(RunConfig config, JobSecret secret, Map<String, String> environment, Screen screen) {
        boolean first = config.ranks().rank() == 0;
        String who = config.ranks().worldSize() > 1 ? "rank " + config.ranks().rank() + ": " : "";
        try (RunLog log = new RunLog(screen, first ? RunLog.Audience.EVERYTHING : RunLog.Audience.ERRORS)) {
            try {
                new TrainingRun(config, secret, environment, screen, log).run();
                return 0;
            } catch (UserException mistake) {
                log.error(who + mistake.getMessage());
                return 2;
            } catch (CommunicationException lost) {
                log.error(lost.getMessage()); // names the rank itself
                return 1;
            } catch (DeviceException failed) {
                log.error(who + "the device failed: " + failed.getMessage());
                return 1;
            } catch (RuntimeException | Error failure) {
                log.error(who + "unexpected failure", failure);
                return 1;
            }
        }
    }

    private void run() {
        if (rank == 0) {
            log.openFile(directory.resolve("out.log"));
        }
        ProcessGrid grid = config.grid();
        log.info(TutorialLines.grid(grid.size(Axis.DP), grid.size(Axis.TP), grid.size(Axis.CP), grid.size(Axis.PP)));
        config.block().forEach(log::info);
        JobMember member = new JobMember(config.ranks(), grid, secret, config.entries(), config.parallel().limits(),
            config.parallel().carrier());
        DeviceOptions options = config.deviceOptions(environment);
        try (Device device = config.device().open(options, log::info)) {
            config.warning(Backend.of(device)).ifPresent(log::warn);
            MemoryPlan plan = plan(device, Backend.sharers(device, options));
            describe(device, plan);
            try (RunMemory memory = new RunMemory(device, plan)) {
                member.run(device, communicators -> {
                    if (rank == 0) {
                        DemoData.makeIfMissing(config, log::info);
                    }
                    communicators.along(Axis.values()).barrier().await();
                    load(device, memory, communicators);
                });
            }
        }
    }

    /** What the run needs, known to fit before any of it is allocated; none of the sharers has taken its own yet. */
    private MemoryPlan plan(Device device, int sharers) {
        DatasetConfig data = dataset(config.data().trainPath(), config.data().limitSamples());
        int loaders = 2;
        MemoryCheck.Inputs inputs = new MemoryCheck.Inputs(data.input().bytes() + data.target().bytes(),
            loaders * DataLoader.slots(config.data().numDataWorkers()), loaders * DataLoader.statisticsBytes(
                normalizing(device), Math.max(model.inChannels(), model.outChannels())));
        MemoryCheck.Run run = new MemoryCheck.Run(model, config.training().localBatchSize(),
            options(device, GradientSync.Options.DEFAULT).compute(),
            new MemoryCheck.Member(config.grid(), rank, config.parallel().carrier()), inputs);
        return MemoryCheck.require(device, run, device.memory().available() / sharers);
    }

    /** Says which kernels run, where there was a choice, and how they are launched. */
    private void describe(Device device, MemoryPlan plan) {
        Replica.Options options = options(device, GradientSync.Options.DEFAULT);
        List<String> kernels = device.kernels(plan.footprint(), options.compute());
        kernels.forEach(line -> log.info("Kernels: " + line));
        if (!kernels.isEmpty()) {
            log.info("Kernels: Adam: "
                + (options.adam().launch() == Adam.Launch.ONCE ? "one launch" : "one launch a tensor"));
        }
        if (options.steps() == Replica.Steps.REPLAYED) {
            log.info("CUDA graphs: a step is recorded once for each place of its batch, and replayed from then on");
        }
    }

    /** What was asked for, where the device knows it. */
    private Replica.Options options(Device device, GradientSync.Options sync) {
        return ReplicaOptions.of(config.training(), device, sync);
    }

    private void load(Device device, RunMemory memory, Communicators communicators) {
        log.info(TutorialLines.loaderBegins(rank));
        try (Era5Dataset training = open(config.data().trainPath(), config.data().limitSamples());
            Era5Dataset validation = open(config.data().validPath(), config.data().limitSamplesValid());
            DataLoader trainingLoader = loader(device, training, true, communicators);
            DataLoader validationLoader = loader(device, validation, false, communicators)) {
            log.info(TutorialLines.loaderReady(rank));
            train(device, memory, communicators, new Trainer.LoaderPair(trainingLoader, validationLoader));
        }
    }

    private Era5Dataset open(Path path, OptionalLong limit) {
        Era5Dataset dataset = Era5Dataset.open(dataset(path, limit));
        log.info(TutorialLines.fileStats(dataset.files().getFirst()));
        limit.ifPresent(most -> log.info(TutorialLines.samplesLimited(dataset.size())));
        log.info(TutorialLines.samplesPerYear(dataset.samplesPerYear()));
        log.info(TutorialLines.dataFound(path.toString(), dataset.size(), model.height(), model.width(),
            model.inChannels()));
        dataset.requireBatch(config.training().globalBatchSize());
        return dataset;
    }

    private DatasetConfig dataset(Path path, OptionalLong limit) {
        DataConfig data = config.data();
        return new DatasetConfig(path, data.globalMeansPath(), data.globalStdsPath(), model.height(), model.width(),
            model.inChannels(), model.outChannels(), data.dt(), limit);
    }

    /** All ranks of one model read the same samples. */
    private DataLoader loader(Device device, Era5Dataset dataset, boolean shuffle, Communicators communicators) {
        DistributedSampler sampler = new DistributedSampler(dataset.size(), config.training().globalBatchSize(),
            config.grid().size(Axis.DP), communicators.coordinate(Axis.DP), shuffle, config.training().seed());
        return new DataLoader(device, dataset, sampler, config.data().numDataWorkers(), normalizing(device));
    }

    /** A CPU reads what the loader's threads have written: there is nothing to copy. */
    private Normalizing normalizing(Device device) {
        boolean copied = Backend.of(device) != Backend.CPU;
        return copied && config.data().dataLoaderConfig() == DataLoaderConfig.DALI ? Normalizing.ON_DEVICE
            : Normalizing.ON_HOST;
    }

    private void train(Device device, RunMemory memory, Communicators communicators, Trainer.LoaderPair data) {
        data.epochs(config.training().numIters()); // none: say so before the model is made
        try (Replica replica = new Replica(device, model, config.training().localBatchSize(), memory.take(),
            communicators, options(device, gradientSync()))) {
            train(replica, communicators, data);
        }
    }

    private void train(Replica replica, Communicators communicators, Trainer.LoaderPair data) {
        Device device = replica.device();
        WeightsFile weights = new WeightsFile(replica.parameters(), device, communicators);
        replica.initialize(config.training().seed());
        config.training().initWeights().ifPresent(weights::load);
        if (!replica.agrees(communicators)) {
            throw new IllegalStateException("ranks that share weights start from different ones");
        }
        log.info(replica.toString());
        log.info(TutorialLines.scaffoldingMemory(device.memory().highWatermark()));
        if (rank == 0) {
            try (TensorBoardWriter board = TensorBoardWriter.open(directory.resolve("logs"))) {
                train(replica, data, weights, Optional.of(board));
            }
        } else {
            train(replica, data, weights, Optional.empty());
        }
    }

    private void train(Replica replica, Trainer.LoaderPair data, WeightsFile weights,
        Optional<TensorBoardWriter> board) {
        RunReport report = new RunReport(screen, log, board, directory);
        Validator.Scores scores = new Trainer(config, replica, data, report).run();
        Path file = directory.resolve("model.safetensors");
        weights.save(file);
        conclude(scores, file, report);
    }

    private GradientSync.Options gradientSync() {
        boolean apart = config.parallel().noddp() && config.grid().size(Axis.DP) > 1;
        if (apart) {
            log.info("--noddp: the %d data-parallel replicas train apart, their gradients are not reduced"
                .formatted(config.grid().size(Axis.DP)));
        }
        return new GradientSync.Options(config.parallel().bucketCapMb(),
            apart ? GradientSync.Replicas.APART : GradientSync.Replicas.TOGETHER);
    }

    private void conclude(Validator.Scores scores, Path weights, RunReport report) {
        log.info("Memory at the end: anonymous %s GB, mapped file pages %s GB.".formatted(
            TutorialLines.gigabytes(HostMachine.anonymousMemory()),
            TutorialLines.gigabytes(HostMachine.mappedFilePages())));
        if (scores.persistence() != null) {
            double score = scores.rmse()[0];
            double persistence = scores.persistence()[0];
            String floor = DemoData.noiseFloor(config).stream()
                .mapToObj(value -> String.format(Locale.ROOT, ", noise floor %.4f", value)).findAny().orElse("");
            log.info(String.format(Locale.ROOT, "RMSE(u10m)/valid: model %.4f, persistence %.4f, ratio %.3f%s", score,
                persistence, score / persistence, floor));
        }
        log.info("Weights: " + weights);
        log.info("Picture: " + report.picture());
        log.info("TensorBoard: tensorboard --logdir " + directory.resolve("logs"));
        log.info(TutorialLines.done(rank));
    }
}
