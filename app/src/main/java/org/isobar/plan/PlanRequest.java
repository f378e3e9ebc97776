package org.isobar.plan;

import java.util.Optional;
import java.util.Set;

import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.AmpMode;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineKeys;
import org.isobar.vit.VitConfig;

/**
 * What to plan.
 *
 * @param config  configuration of the run in one process
 * @param machine where it runs
 * @param program the program that runs
 * @param ranks   number of ranks, one for each GPU
 * @param fixed   what the user has chosen
 */
public record PlanRequest(RunConfig config, Machine machine, Program program, int ranks, Fixed fixed) {
    /**
     * What the user has chosen.
     *
     * @param tp    ranks that share weights
     * @param cp    ranks that share tokens
     * @param order order of the axes
     * @param keys  keys whose value of the configuration is kept: {@code amp_mode}, {@code recompute},
     *              {@code enable_cuda_graphs}, {@code accumulate_steps}
     */
    public record Fixed(Optional<Integer> tp, Optional<Integer> cp, Optional<String> order, Set<String> keys) {
        /** Nothing is chosen. */
        public static final Fixed NOTHING = new Fixed(Optional.empty(), Optional.empty(), Optional.empty(), Set.of());
    }

    /** Checks that the model is the vision transformer, and that the program has micro-batches if there are any. */
    public PlanRequest {
        if (!(config.model() instanceof VitConfig)) {
            throw new UserException("plan knows the shapes of architecture vit; give a preset with it");
        }
        if (program == Program.TUTORIAL && config.training().microBatches() > 1) {
            throw new UserException("--program=tutorial has no micro-batches, but accumulate_steps is "
                + config.training().microBatches() + "; plan it with --accumulate=1");
        }
    }

    /** Replaces the layout of {@code run} by that of one process. */
    public static ConfigRequest ofOneProcess(ConfigRequest run) {
        return run.with("tensor_parallel", "1").with("context_parallel", "1").with("local_batch_size", "None")
            .with("noddp", "false").with("parallel_order", ProcessGrid.DEFAULT_ORDER);
    }

    /** The model. */
    public VitConfig model() {
        return (VitConfig) config.model();
    }

    /**
     * The type in which the program trains on the machine if {@code asked} is configured: Isobar trains in single
     * precision on a CPU without such products.
     */
    AmpMode precision(AmpMode asked) {
        return program == Program.TUTORIAL || machine.computes(asked.compute()) ? asked : AmpMode.NONE;
    }

    /**
     * Nodes of the run: of GPUs the fewest that the ranks fill evenly, with no more ranks on a node than the machine
     * has. The processes of a CPU are all on one.
     */
    public int nodes() {
        int nodes = machine.isGpu() ? Math.ceilDiv(ranks, (int) machine.value(MachineKeys.RANKS_PER_NODE)) : 1;
        while (ranks % nodes != 0) {
            nodes++;
        }
        return nodes;
    }

    /** Ranks of each node. */
    public int ranksPerNode() {
        return ranks / nodes();
    }

    /** Samples of all replicas in each step. */
    public int globalBatch() {
        return config.training().globalBatchSize();
    }
}
