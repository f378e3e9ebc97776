package org.isobar.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar groups}: prints the process groups of a parallel layout and how it shards a weight. */
@Command(name = GroupsCommand.NAME, description = GroupsCommand.SUMMARY, sortOptions = false,
    abbreviateSynopsis = true, mixinStandardHelpOptions = true)
final class GroupsCommand implements Callable<Integer> {
    static final String NAME = "groups";
    static final String SUMMARY = "Print the process groups of a parallel layout, and how it shards a weight.";
    private static final int MOST_RANKS = 1 << 20;

    @Option(names = "--world_size", paramLabel = "N", defaultValue = "16",
        description = "Number of ranks (default: ${DEFAULT-VALUE}).")
    private int worldSize;
    @Option(names = "--tensor_parallel", paramLabel = "N",
        description = "Ranks per tensor-parallel group (default: 1; with --show_weight: world_size / (cp x pp)).")
    private Integer tensorParallel;
    @Option(names = "--context_parallel", paramLabel = "N", defaultValue = "1",
        description = "Ranks per context-parallel group (default: ${DEFAULT-VALUE}).")
    private int contextParallel;
    @Option(names = "--pipeline_parallel", paramLabel = "N", defaultValue = "1",
        description = "Ranks per pipeline (default: ${DEFAULT-VALUE}).")
    private int pipelineParallel;
    @Option(names = "--parallel_order", paramLabel = "AXES", defaultValue = ProcessGrid.DEFAULT_ORDER,
        description = "Order in which ranks fill the process grid, fastest axis first (default: ${DEFAULT-VALUE}).")
    private String order;
    @Option(names = "--gpus_per_node", paramLabel = "N", description =
        "Also print which groups span nodes of N ranks each.")
    private Integer gpusPerNode;
    @Option(names = "--show_weight", paramLabel = "INxOUT",
        description = "Print how a weight of IN inputs and OUT outputs is sharded over tp.")
    private String weight;
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (gpusPerNode != null && gpusPerNode < 1) {
            throw new UserException("--gpus_per_node=" + gpusPerNode + ": a node has at least one rank");
        }
        if (worldSize > MOST_RANKS) {
            throw new UserException("--world_size=" + worldSize + ": groups of at most " + MOST_RANKS
                + " ranks are printed");
        }
        if (weight != null && !weight.matches("[1-9][0-9]{0,8}x[1-9][0-9]{0,8}")) {
            throw new UserException("--show_weight=" + weight + " is not of the form INxOUT, as 1024x512 is");
        }
        ProcessGrid grid = ProcessGrid.fit(order, worldSize, tensorParallel(), contextParallel, pipelineParallel);
        PrintWriter out = spec.commandLine().getOut();
        out.println("---------- world size is set to : " + worldSize + " ----------");
        out.println("> " + grid);
        groups(grid, out);
        if (weight != null) {
            slices(grid.size(Axis.TP), out);
        }
        out.flush();
        return 0;
    }

    private int tensorParallel() {
        if (tensorParallel != null) {
            return tensorParallel;
        }
        return weight == null ? 1 : Math.max(1, worldSize / Math.max(1, contextParallel * pipelineParallel));
    }

    private void groups(ProcessGrid grid, PrintWriter out) {
        print(grid, out, Axis.DP.description(), Axis.DP);
        print(grid, out, Axis.TP.description(), Axis.TP);
        print(grid, out, Axis.PP.description(), Axis.PP);
        if (grid.size(Axis.CP) > 1) {
            print(grid, out, Axis.CP.description(), Axis.CP);
            print(grid, out, "tensor- and context-parallel (one copy of the model)", Axis.TP, Axis.CP);
            print(grid, out, "data- and context-parallel (one gradient)", Axis.DP, Axis.CP);
        }
        if (grid.size(Axis.PP) > 1) {
            print(grid, out, "tensor- and pipeline-parallel (tp-pp)", Axis.TP, Axis.PP);
        }
        models(grid, out);
    }

    /** A full model is on all ranks that have the same place on the axis dp. */
    private void models(ProcessGrid grid, PrintWriter out) {
        List<List<Integer>> models = grid.groups(Axis.TP, Axis.CP, Axis.PP);
        out.println("Total: " + models.size() + " full models being partitioned into " + worldSize + " GPUs");
        for (int model = 0; model < models.size(); model++) {
            out.println("model " + model + ": is partitioned into gpus: " + models.get(model).stream()
                .map(String::valueOf).collect(Collectors.joining(",")));
        }
    }

    private void print(ProcessGrid grid, PrintWriter out, String name, Axis... axes) {
        List<List<Integer>> groups = grid.groups(axes);
        out.println(" " + groups.size() + " " + name + " groups:");
        out.println(" " + groups.stream().map(GroupsCommand::members).collect(Collectors.joining(", ")));
        if (gpusPerNode != null) {
            List<String> crossing = groups.stream()
                .filter(group -> group.stream().map(rank -> rank / gpusPerNode).distinct().count() > 1)
                .map(GroupsCommand::members).toList();
            out.println("   " + (crossing.isEmpty() ? "none crosses nodes" : crossing.size() == groups.size()
                ? "all cross nodes" : "crossing nodes: " + String.join(", ", crossing)));
        }
    }

    private static String members(List<Integer> ranks) {
        return ranks.stream().map(rank -> "g" + rank).collect(Collectors.joining(", ", "[", "]"));
    }

    private void slices(int parts, PrintWriter out) {
        int cross = weight.indexOf('x');
        long inputs = Long.parseLong(weight.substring(0, cross));
        long outputs = Long.parseLong(weight.substring(cross + 1));
        out.println("---------- Y = X A, A of " + inputs + " x " + outputs + ", kept as the weight W = A^T of "
            + outputs + " x " + inputs + " ----------");
        out.println("column-parallel: A = [A0, A1, ...] is cut by columns, W by rows");
        for (int part = 0; part < parts; part++) {
            Shard shard = new Shard(0, parts, part);
            out.println(slice(part, inputs, shard.length(outputs), "W[" + range(shard, outputs) + ", :]"));
        }
        out.println("row-parallel: A = [A0; A1; ...] is cut by rows, W by columns");
        for (int part = 0; part < parts; part++) {
            Shard shard = new Shard(1, parts, part);
            out.println(slice(part, shard.length(inputs), outputs, "W[:, " + range(shard, inputs) + "]"));
        }
    }

    private static String slice(int part, long rows, long columns, String of) {
        return "A" + part + "= [" + rows + ", " + columns + "] = " + of + "^T";
    }

    private static String range(Shard shard, long extent) {
        return shard.start(extent) + ":" + (shard.start(extent) + shard.length(extent));
    }
}
