package org.isobar.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.backend.Backend;
import org.isobar.backend.DeviceOptions;
import org.isobar.backend.cuda.ops.CudaOptions;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.job.RankEnvironment;
import org.isobar.model.ModelSpec;
import org.isobar.telemetry.TutorialLines;

/**
 * Everything that one run is told, resolved and checked.
 *
 * @param name the preset
 * @param yamlFile the file it stands in, absolute
 * @param ranks which of the job's processes this is
 * @param grid how the processes share the work
 * @param threads compute threads of a CPU, all cores where absent
 * @param cuda how a GPU carries out its operations
 * @param entries every key in effect and its value as Python would print it, in the order of the log
 * @param effects which options have no effect in this run
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
    Map<String, String> entries,
    UnusedOptions effects) {

    /** The configuration block of the log, line by line, in the tutorial's format. */
    public List<String> block() {
        return TutorialLines.configuration(yamlFile.toString(), name, entries);
    }

    /**
     * What stands in the way of going on with a run of another configuration: each key whose change would change the
     * result, as in {@code seed is 1, was 0}. A key that is absent has the value that it has where it is not given.
     *
     * @param earlier the other run's {@link #entries}
     */
    public List<String> changesSince(Map<String, String> earlier) {
        return ConfigChanges.between(earlier, entries);
    }

    /** How the device is opened, in that environment. */
    public DeviceOptions deviceOptions(Map<String, String> environment) {
        return new DeviceOptions(threads, cuda, ranks, parallel.carrier(), environment);
    }

    /** A sentence about the options that have no effect where {@code backend} computes, if there are any. */
    public Optional<String> warning(Backend backend) {
        return effects.sentence(backend);
    }
}
