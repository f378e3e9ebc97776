package org.isobar.cli.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.fault.UserException;

/**
 * One run of a scaling study.
 *
 * @param axis    dp, tp or cp; empty for one rank
 * @param ranks   number of ranks
 * @param options the options of {@code train} that make the layout
 * @param config  the run's configuration
 */
record ScalingLayout(String axis, int ranks, List<String> options, RunConfig config) {

    /** How the learning rate follows the global batch, along dp. */
    enum LrRule {
        /** It does not. */
        NONE,
        /** In proportion to the batch. */
        LINEAR,
        /** In proportion to the square root of the batch, as in the tutorial's presets. */
        SQRT
    }

    /**
     * The layout of {@code ranks} ranks along an axis. Along dp, the local batch is fixed (weak scaling): the global
     * batch grows, the learning rate by the rule, and the number of steps falls, so that as many samples are trained.
     * Along tp and cp, the global batch is fixed (strong scaling).
     *
     * @param base the request of one rank
     * @param one  the configuration of one rank
     * @throws UserException if the model or the batch cannot be divided so
     */
    static ScalingLayout of(String axis, int ranks, ConfigRequest base, RunConfig one, LrRule rule, Path out) {
        Map<String, String> keys = new LinkedHashMap<>();
        keys.put("expdir", out.resolve("runs").toString());
        keys.put("run_num", axis.isEmpty() ? "one" : axis + ranks);
        keys.put("num_iters", String.valueOf(axis.equals("dp") ? Math.ceilDiv(one.training().numIters(), ranks)
            : one.training().numIters()));
        List<String> options = new ArrayList<>();
        if (axis.equals("dp")) {
            keys.put("local_batch_size", String.valueOf(one.training().localBatchSize()));
            double factor = rule == LrRule.NONE ? 1 : rule == LrRule.LINEAR ? ranks : Math.sqrt(ranks);
            options.add("--set=lr=" + String.format(Locale.ROOT, "%.6e", one.training().lr() * factor));
        } else if (!axis.isEmpty()) {
            keys.put(axis.equals("tp") ? "tensor_parallel" : "context_parallel", String.valueOf(ranks));
        }
        ConfigRequest request = new ConfigRequest(base.yamlFile(), base.preset(), base.overrides(),
            Map.of("RANK", "0", "LOCAL_RANK", "0", "WORLD_SIZE", String.valueOf(ranks), "MASTER_ADDR", "127.0.0.1",
                "MASTER_PORT", "29500"));
        for (String option : options) {
            request = request.set(option.substring("--set=".length()));
        }
        for (Map.Entry<String, String> key : keys.entrySet()) {
            request = request.with(key.getKey(), key.getValue());
            options.add("--" + key.getKey() + "=" + key.getValue());
        }
        return new ScalingLayout(axis, ranks, options, ConfigLoader.load(request));
    }

    /** Axis and ranks, for messages. */
    String name() {
        return axis.isEmpty() ? "1 rank" : axis + " " + ranks;
    }

    /** The run's directory. */
    Path directory() {
        return config.output().experimentDirectory();
    }

    /**
     * The command that runs it in a Slurm job.
     *
     * @param home  directory of the launcher and the submit scripts
     * @param given the user's options of {@code train}
     */
    List<String> srun(Path home, List<String> given) {
        String vars = "source \"$0/export_DDP_vars.sh\"";
        List<String> command = new ArrayList<>(List.of("bash", "-c", vars + " && exec srun --ntasks=" + ranks
            + " ${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK} --kill-on-bad-exit=1 bash -c '"
            + vars + " && exec \"$0/isobar\" \"$@\"' \"$0\" \"$@\"",
            home.toAbsolutePath().toString()));
        command.addAll(train(given));
        return command;
    }

    /** The command that runs it on this machine, beginning with the command of this program. */
    List<String> launch(List<String> program, List<String> given) {
        List<String> command = new ArrayList<>(program);
        command.addAll(List.of("launch", "--nproc_per_node=" + ranks));
        command.addAll(train(given));
        return command;
    }

    private List<String> train(List<String> given) {
        List<String> command = new ArrayList<>(List.of("train"));
        command.addAll(given);
        command.addAll(options);
        return command;
    }
}
