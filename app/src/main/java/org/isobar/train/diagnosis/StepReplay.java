package org.isobar.train.diagnosis;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

import org.isobar.backend.Backend;
import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.CheckpointPath;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.data.DatasetFingerprint;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;
import org.isobar.distributed.Communicators;
import org.isobar.tensor.DType;
import org.isobar.train.input.RunInputs;
import org.isobar.train.memory.MemoryCheck;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.memory.RunMemory;
import org.isobar.train.saving.SavedState;
import org.isobar.train.saving.TrainingState;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepOptions;

/**
 * Replays the step that follows a checkpoint on one process, always in fp32, and one sample at a time so that any batch
 * fits. Scans all layer outputs and all gradients for non-finite values. Updates no weights and writes no files.
 */
public final class StepReplay {
    private static final int ALL_FINITE = 0;
    private static final int REPRODUCED = 1;
    private static final double FP16_MAX = 65504;

    private final Checkpoint checkpoint;
    private final RunConfig config;
    private final Consumer<String> out;

    private StepReplay(Checkpoint checkpoint, RunConfig config, Consumer<String> out) {
        this.checkpoint = checkpoint;
        this.config = config;
        this.out = out;
    }

    /**
     * Replays a step and returns the exit code: 0 if all values are finite, 1 if any is not.
     *
     * @param path        a checkpoint, or a directory of checkpoints, of which the newest is used
     * @param overrides   configuration keys that depend on the machine, such as {@code data_dir}, and their values
     * @param environment environment variables of this process
     * @param out         receives the output line by line
     * @throws org.isobar.fault.UserException if the checkpoint or its data do not exist
     */
    public static int run(Path path, Map<String, String> overrides, Map<String, String> environment,
        Consumer<String> out) {
        Map<String, String> exact = new HashMap<>(environment);
        exact.put("NVIDIA_TF32_OVERRIDE", "0"); // matrix products in full fp32
        try (Checkpoint checkpoint = new CheckpointPath(path).open(SavedState.RESUMABLE, out)) {
            RunConfig config = configuration(checkpoint, overrides, exact);
            try (Device device = config.device().open(config.deviceOptions(exact), out)) {
                return new StepReplay(checkpoint, config, out).run(device);
            }
        }
    }

    /** The run's configuration for one process. Variables of a surrounding job, such as Slurm's, are ignored. */
    private static RunConfig configuration(Checkpoint checkpoint, Map<String, String> overrides,
        Map<String, String> environment) {
        Map<String, String> machine = new HashMap<>(environment);
        machine.keySet().retainAll(Set.of("DATADIR", "ISOBAR_THREADS", "NVIDIA_TF32_OVERRIDE"));
        Map<String, String> settings = new LinkedHashMap<>(Map.of("tensor_parallel", "1", "context_parallel", "1",
            "comm_backend", "auto", "amp_mode", "none", "resume", "never", "init_weights", "None"));
        settings.putAll(overrides);
        ConfigRequest request = new ConfigRequest(checkpoint.path().resolve("checkpoint.json"), "replay", machine);
        for (Map.Entry<String, String> setting : settings.entrySet()) {
            request = request.with(setting.getKey(), setting.getValue());
        }
        return ConfigLoader.restore(checkpoint.configuration(), request);
    }

    private int run(Device device) {
        TrainingState state = SavedState.read(checkpoint);
        try (Era5Dataset dataset = Era5Dataset.open(config.trainingData())) {
            dataset.requireBatch(config.training().globalBatchSize());
            if (!state.data().startsWith("training " + DatasetFingerprint.of(dataset) + ";")) {
                out.accept("The data differ from those of the run: " + dataset.config().directory());
            }
            MemoryPlan plan = plan(device);
            try (RunMemory memory = new RunMemory(device, plan);
                Replica replica = new Replica(device, config.model(), 1, memory.take(),
                    Communicators.alone(device.ops().memory()::copy),
                    StepOptions.of(DType.F32, GradientSync.Options.DEFAULT))) {
                replica.step().state().restore(checkpoint, state.control());
                return run(new ReplayedStep(replica, dataset, config, checkpoint.iteration(), state));
            }
        }
    }

    private MemoryPlan plan(Device device) {
        MemoryCheck.Run run = new MemoryCheck.Run(config.model(), 1, 1, DType.F32,
            new MemoryCheck.Member(config.grid(), 0, config.parallel().carrier()),
            new RunInputs(config, device).memory(), MemoryCheck.Saving.NOTHING);
        int sharers = Backend.sharers(device, config.deviceOptions(Map.of()));
        return MemoryCheck.require(device, run, device.memory().available() / sharers);
    }

    private int run(ReplayedStep step) {
        out.accept("Replaying %s after %s in fp32, sample by sample".formatted(step, checkpoint.path()));
        Optional<String> weight = step.firstNonFiniteWeight();
        weight.ifPresent(name -> out.accept("weight " + name + " is not finite in the checkpoint"));
        boolean finite = weight.isEmpty();
        FiniteScan.Peak peak = new FiniteScan.Peak("", 0);
        for (int place = 0; place < config.training().globalBatchSize(); place++) {
            ReplayedStep.Finding finding = step.replay(place);
            out.accept(finding.toString());
            finite &= finding.isFinite();
            peak = finding.peak().magnitude() > peak.magnitude() ? finding.peak() : peak;
        }
        if (peak.magnitude() > FP16_MAX) {
            out.accept("beyond the fp16 maximum of %.0f: the output of %s, up to %s".formatted(FP16_MAX, peak.name(),
                peak.magnitude()));
        }
        out.accept(finite ? "All numbers are finite." : "Reproduced: not all numbers are finite.");
        return finite ? ALL_FINITE : REPRODUCED;
    }
}
