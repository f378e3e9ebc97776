package org.isobar.train;

import java.nio.file.Path;
import java.util.Map;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;

/**
 * A rank of a grid with its part of a model of preset {@code demo}, on this machine's processor and without its peers:
 * for what it does by itself.
 */
record BenchmarkedRank(RunConfig config, CpuDevice device, ProcessGrid grid, int rank, Replica.Memory memory,
    Communicators communicators, Replica replica) implements AutoCloseable {

    /** Extents of a model that has about 200 MB of weights and moments. */
    static final String[] MB_200 = {"embed_dim=384", "depth=9"};
    /** Of one that has 2 GB. */
    static final String[] GB_2 = {"embed_dim=1024", "depth=13", "num_heads=8"};

    /** Rank {@code rank} of {@code tp} that share a model; settings are KEY=VALUE. */
    static BenchmarkedRank of(int tp, int rank, Path directory, String... settings) {
        ConfigRequest request = new ConfigRequest(Path.of("..", "config", "ViT.yaml"), "demo", Map.of())
            .with("expdir", directory.toString());
        for (String setting : settings) {
            request = request.set(setting);
        }
        RunConfig config = ConfigLoader.load(request);
        int batch = config.training().localBatchSize();
        ProcessGrid grid = ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of(Axis.TP, tp));
        MemoryPlan plan = MemoryPlan.of(config.model(), batch, grid, rank);
        CpuDevice device = new CpuDevice(Runtime.getRuntime().availableProcessors());
        device.reserve(plan.footprint());
        Replica.Memory memory = Replica.Memory.of(device, plan);
        Communicators communicators = new Communicators(grid, rank, device.ops()::copy, DryRunCommunicator::new);
        Replica replica = new Replica(device, config.model(), batch, memory, communicators,
            GradientSync.Options.DEFAULT);
        replica.initialize(config.training().seed());
        return new BenchmarkedRank(config, device, grid, rank, memory, communicators, replica);
    }

    /** What it says of a training loop in a checkpoint. */
    TrainingState state() {
        return new TrainingState(0, 1, 0, 0, 0, replica.state().control(), replica.progress(), null, null,
            new TrainingState.Written(0, "", 0), "");
    }

    @Override
    public void close() {
        replica.close();
        communicators.close();
        memory.close();
        device.close();
    }
}
