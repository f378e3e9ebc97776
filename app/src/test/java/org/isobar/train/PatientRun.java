package org.isobar.train;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.config.RunConfig;
import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetConfig;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;
import org.isobar.device.Span;
import org.isobar.distributed.Communicators;
import org.isobar.optim.LearningRateSchedule;

/**
 * A run on the CPU in single precision, without dropout, that lets its first steps go by: it works out their losses and
 * moves nothing but the learning rate.
 *
 * @param validation loss before training (of the first batch) and after each epoch
 * @param training   mean loss of each epoch
 */
record PatientRun(List<Double> validation, List<Double> training) {

    /** Trains as configured, but for the device and the first {@code idle} steps. */
    static PatientRun of(RunConfig config, int epochs, int idle) {
        int batch = config.training().localBatchSize();
        MemoryPlan plan = MemoryPlan.of(config.model(), batch);
        try (Device device = new CpuDevice(2);
            Era5Dataset years = open(config, config.data().trainPath());
            Era5Dataset validYears = open(config, config.data().validPath());
            DataLoader training = loader(device, config, years, true);
            DataLoader validation = loader(device, config, validYears, false);
            Replica.Memory memory = Replica.Memory.of(device, plan)) {
            device.reserve(plan.footprint());
            Replica replica = new Replica(device, config.model(), batch, memory,
                Communicators.alone(device.ops()::copy), GradientSync.Options.DEFAULT);
            replica.initialize(config.training().seed());
            PatientRun run = new PatientRun(new ArrayList<>(), new ArrayList<>());
            run.validation.add(firstLoss(replica, validation));
            for (int epoch = 0; epoch < epochs; epoch++) {
                run.training.add(run.train(config, replica, training, epoch, idle));
                run.validation.add(new Validator(replica, validation, () -> Wish.NOTHING)
                    .run(Validator.Baseline.NONE, 0, (target, prediction) -> { }).orElseThrow().loss());
            }
            return run;
        }
    }

    private double train(RunConfig config, Replica replica, DataLoader loader, int number, int idle) {
        LearningRateSchedule schedule = new LearningRateSchedule.Cosine(config.training().lr(),
            config.training().numIters(), 0);
        long step = (long) number * loader.steps();
        double sum = 0;
        try (DataLoader.Epoch epoch = loader.epoch(number)) {
            while (epoch.hasNext()) {
                try (Batch batch = epoch.next()) {
                    sum += step < idle ? loss(replica, batch)
                        : replica.trainStep(batch.input(), batch.target(),
                            new Replica.StepContext(0, step, Span.whole(batch.samples().length), schedule.at(step)));
                }
                step++;
            }
        }
        return sum / loader.steps();
    }

    private static double firstLoss(Replica replica, DataLoader loader) {
        try (DataLoader.Epoch epoch = loader.epoch(0); Batch batch = epoch.next()) {
            return loss(replica, batch);
        }
    }

    private static double loss(Replica replica, Batch batch) {
        return replica.evaluate(batch.input(), batch.target()).loss();
    }

    private static Era5Dataset open(RunConfig config, Path years) {
        return Era5Dataset.open(new DatasetConfig(years, config.data().globalMeansPath(),
            config.data().globalStdsPath(), config.model().height(), config.model().width(),
            config.model().inChannels(), config.model().outChannels(), config.data().dt(), OptionalLong.empty()));
    }

    private static DataLoader loader(Device device, RunConfig config, Era5Dataset dataset, boolean shuffle) {
        return new DataLoader(device, dataset, new DistributedSampler(dataset.size(),
            config.training().globalBatchSize(), 1, 0, shuffle, config.training().seed()), 0);
    }
}
