package org.isobar.train.input;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.DataLoaderConfig;
import org.isobar.data.CropWindow;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetConfig;
import org.isobar.data.DistributedSampler;
import org.isobar.data.Era5Dataset;
import org.isobar.data.InputDescription;
import org.isobar.data.NormalizationPlace;
import org.isobar.data.YearIndex;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.RankMessages;
import org.isobar.model.ModelSpec;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.TutorialLines;
import org.isobar.train.memory.MemoryCheck;

/** How a configured run reads its data on one device. */
public record RunInputs(RunConfig config, Device device) {

    /** Memory of the training and validation loaders. */
    public MemoryCheck.Inputs memory() {
        DatasetConfig data = config.trainingData();
        ModelSpec model = config.model();
        int loaders = 2;
        return new MemoryCheck.Inputs(data.input().bytes() + data.target().bytes(),
            batch -> loaders * DataLoader.slots(config.data().numDataWorkers(), batch),
            loaders * DataLoader.statisticsBytes(normalizing(), Math.max(model.inChannels(), model.outChannels())));
    }

    /** Opens the training data and logs their size. Rank 0 opens all files; all ranks call this together. */
    public Era5Dataset training(RankMessages messages, RunLog log) {
        String topic = "training years";
        Era5Dataset dataset = logged(isRoot() ? announced(messages, topic, Era5Dataset.open(config.trainingData()))
            : Era5Dataset.openShared(config.trainingData(), () -> times(messages, topic)), log);
        warnOfCrop(dataset.stored(), log);
        return dataset;
    }

    /**
     * Opens the validation data as {@link #training} does.
     *
     * @param inputs the model's channels, as the training data describe them
     */
    public Era5Dataset validation(InputDescription inputs, RankMessages messages, RunLog log) {
        String topic = "validation years";
        return logged(isRoot() ? announced(messages, topic, Era5Dataset.open(config.validationData(), inputs))
            : Era5Dataset.openShared(config.validationData(), () -> times(messages, topic), inputs), log);
    }

    private boolean isRoot() {
        return config.ranks().rank() == 0;
    }

    /** Tells the other ranks how many time steps each year has, so that they need not open all files. */
    private static Era5Dataset announced(RankMessages messages, String topic, Era5Dataset dataset) {
        messages.announce(topic, dataset.times().stream().map(String::valueOf).collect(Collectors.joining(" "))
            .getBytes(StandardCharsets.UTF_8));
        return dataset;
    }

    private List<Integer> times(RankMessages messages, String topic) {
        Duration limit = config.parallel().limits().stall();
        try {
            byte[] text = messages.await(topic, limit).orElseThrow(() -> new CommunicationException("rank "
                + config.ranks().rank() + ": rank 0 has not opened the data within " + limit.toSeconds() + " s"));
            return Stream.of(new String(text, StandardCharsets.UTF_8).split(" ")).map(Integer::valueOf).toList();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException("rank " + config.ranks().rank() + " was interrupted while it waited for "
                + topic, interrupted);
        }
    }

    private Era5Dataset logged(Era5Dataset dataset, RunLog log) {
        OptionalLong limit = dataset.config().limit();
        Path path = dataset.config().directory();
        log.info(TutorialLines.fileStats(dataset.files().getFirst()));
        limit.ifPresent(most -> log.info(TutorialLines.samplesLimited(dataset.size())));
        YearIndex years = dataset.years();
        log.info(TutorialLines.samplesPerYear(years.samples(0)));
        if (!years.isUniform()) {
            log.info("Years differ: they have " + years.lengths() + " samples each, and all are used");
        }
        log.info(TutorialLines.dataFound(path.toString(), dataset.size(), config.model().height(),
            config.model().width(), config.model().inChannels()));
        dataset.requireBatch(config.training().globalBatchSize());
        return dataset;
    }

    /** Less than a tenth may be left out on purpose, such as the row of the South Pole. */
    private void warnOfCrop(CropWindow stored, RunLog log) {
        int height = config.model().height();
        int width = config.model().width();
        if (stored.height() - height > stored.height() / 10 || stored.width() - width > stored.width() / 10) {
            log.warn("The data have " + stored.height() + " x " + stored.width() + " points; only the first " + height
                + " x " + width + " of them are read (img_size). To read all, raise img_size, or average cells with "
                + "`isobar data convert --coarsen`");
        }
    }

    /** A loader of this rank's batches of a dataset. All ranks of one model replica read the same samples. */
    public DataLoader loader(Era5Dataset dataset, boolean shuffle, Communicators communicators) {
        DistributedSampler sampler = new DistributedSampler(dataset.size(), config.training().globalBatchSize(),
            config.grid().size(Axis.DP), communicators.coordinate(Axis.DP),
            config.training().microBatches(), shuffle, config.training().seed());
        return new DataLoader(device, dataset, sampler, config.data().numDataWorkers(), normalizing());
    }

    /** Only a GPU normalizes on the device. A CPU reads the loader's buffers directly, without a copy. */
    private NormalizationPlace normalizing() {
        boolean copied = Backend.of(device) != Backend.CPU;
        return copied && config.data().dataLoaderConfig() == DataLoaderConfig.DALI ? NormalizationPlace.ON_DEVICE
            : NormalizationPlace.ON_HOST;
    }
}
