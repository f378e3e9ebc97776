package org.isobar.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

import org.isobar.backend.Backend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.data.DatasetConfig;
import org.isobar.device.ProductAlgorithms;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.model.ModelSpec;
import org.isobar.telemetry.TutorialLines;

/**
 * The configuration of one run, resolved and checked.
 *
 * @param name the preset
 * @param yamlFile the preset's file, absolute
 * @param ranks which of the job's processes this is
 * @param grid how the processes share the work
 * @param threads compute threads of a CPU; all cores if empty
 * @param cuda options of a GPU's operations
 * @param attention what selects the engine of attention
 * @param products how the algorithms of a GPU's matrix products are chosen
 * @param entries every key in effect and its value as Python would print it, in the order of the log
 * @param unused options that have no effect in this run
 */
public record RunConfig(
    String name,
    Path yamlFile,
    ModelSpec model,
    TrainingConfig training,
    DataConfig data,
    ParallelConfig parallel,
    RankEnvironment ranks,
    ProcessGrid grid,
    OutputConfig output,
    CheckpointConfig checkpoint,
    Backend device,
    OptionalInt threads,
    CudaOptions cuda,
    AttentionConfig attention,
    ProductAlgorithms.Choice products,
    Map<String, String> entries,
    UnusedOptions unused) {

    /** The configuration block of the log, line by line, in the tutorial's format. */
    public List<String> block() {
        return TutorialLines.configuration(yamlFile.toString(), name, entries);
    }

    /** The configuration as a YAML file of one preset of this name, without anchors. */
    public String yaml() {
        return ResolvedPreset.yaml(name, entries, output);
    }

    /**
     * The changes that prevent resuming a run of another configuration: a text such as {@code seed is 1, was 0} for
     * each key that is fixed on resume and differs. A key without an entry has its default.
     *
     * @param earlier the other run's {@link #entries}
     */
    public List<String> changesSince(Map<String, String> earlier) {
        return ConfigChanges.between(earlier, entries);
    }

    /** How the training data are read. */
    public DatasetConfig trainingData() {
        return dataset(data.trainPath(), data.limitSamples());
    }

    /** How the validation data are read. */
    public DatasetConfig validationData() {
        return dataset(data.validPath(), data.limitSamplesValid());
    }

    private DatasetConfig dataset(Path directory, OptionalLong limit) {
        return new DatasetConfig(directory, data.globalMeansPath(), data.globalStdsPath(), model.height(),
            model.width(), model.inChannels(), model.outChannels(), data.dt(), data.hoursPerFrame(), limit,
            data.channels());
    }

    /** The configuration of another rank of the same job, which trains as {@code other} says. */
    public RunConfig as(int rank, TrainingConfig other) {
        RankEnvironment process = new RankEnvironment(rank, ranks.worldSize(), ranks.localRank(),
            ranks.masterAddress(), ranks.masterPort(), ranks.severalNodes());
        return new RunConfig(name, yamlFile, model, other, data, parallel, process, grid, output, checkpoint, device,
            threads, cuda, attention, products, entries, unused);
    }

    /** Whether the run saves checkpoints. */
    public boolean savesCheckpoints() {
        return checkpoint.keep() > 0 && !trainsReplicasIndependently();
    }

    /** Whether each data-parallel replica trains a model of its own. */
    public boolean trainsReplicasIndependently() {
        return parallel.noddp() && grid.size(Axis.DP) > 1;
    }

    /** Whether rank 0 proves at the start that the ranks will issue matching collectives. */
    public boolean provesCollectives() {
        return !parallel.proof().isZero() && grid.worldSize() > 1;
    }

    /** The options to open the device with. */
    public DeviceOptions deviceOptions(Map<String, String> environment) {
        return new DeviceOptions(threads, cuda, ranks, parallel.carrier(), environment);
    }

    /** A sentence that names the options without effect on {@code backend}, if there are any. */
    public Optional<String> warning(Backend backend) {
        return unused.sentence(backend);
    }
}
