package org.isobar.plan.cost;

import java.util.List;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineKeys;

/**
 * Seconds of collectives: from the machine's table where it has the operation, else by the formula of a ring with the
 * latencies and links of the machine (Thakur, Rabenseifner, Gropp, 2005).
 *
 * @param machine the machine
 */
public record CollectiveCosts(Machine machine) {
    /** Calls of uneven parts are groups of broadcasts or reductions, and not measured: they are taken to cost twice. */
    private static final double UNEVEN = 2;

    /**
     * Seconds of a collective from the moment when all members have reached it.
     *
     * @param bytes bytes of the whole tensor
     * @param even  whether all parts have the same size
     */
    public double seconds(Kind kind, GroupSpan span, long bytes, boolean even) {
        return seconds(List.of(operation(kind)), kind, span, bytes, even);
    }

    /**
     * Seconds that a collective adds to computation that runs meanwhile on the same cores; those of {@link #seconds} if
     * they were not measured.
     */
    public double overlappedSeconds(Kind kind, GroupSpan span, long bytes, boolean even) {
        return seconds(List.of(operation(kind) + CollectiveTable.OVERLAPPED, operation(kind)), kind, span, bytes, even);
    }

    /** The first of {@code rows} that was measured, or the formula. */
    private double seconds(List<String> rows, Kind kind, GroupSpan span, long bytes, boolean even) {
        if (span.ranks() < 2) {
            return 0;
        }
        double seconds = machine.collectives().stream().flatMap(table -> rows.stream().flatMap(row ->
            table.seconds(row, span.nodes(), span.perNode(), bytes).stream())).findFirst()
            .orElseGet(() -> ring(kind, span, bytes));
        return even ? seconds : UNEVEN * seconds;
    }

    /**
     * How many times as long a collective takes because the groups of a node run at once on its cores: collectives of a
     * CPU are work of its cores. One where each rank has a GPU or a core.
     *
     * @param ranks ranks of a node
     */
    public double sharing(GroupSpan span, int ranks) {
        return machine.isGpu() ? 1
            : Math.max(1, ranks / Math.max(span.perNode(), machine.value(MachineKeys.CORES)));
    }

    private static String operation(Kind kind) {
        return switch (kind) {
            case ALL_REDUCE, BARRIER -> "allreduce";
            case ALL_GATHER, BROADCAST, SEND, RECEIVE -> "allgather";
            case REDUCE_SCATTER -> "reducescatter";
        };
    }

    /** Each rank passes (n - 1) / n of the bytes on, twice for an all-reduce; the slowest link counts. */
    private double ring(Kind kind, GroupSpan span, long bytes) {
        int ranks = span.ranks();
        int passes = kind == Kind.ALL_REDUCE || kind == Kind.BARRIER ? 2 : 1;
        double within = machine.value(MachineKeys.NODE_LINK) * 1e9;
        double latency = passes * (span.perNode() - 1) * machine.value(MachineKeys.NODE_LATENCY);
        double link = within;
        if (span.nodes() > 1) {
            link = Math.min(within, span.perNode() * machine.value(MachineKeys.NET_LINK) * 1e9);
            latency += passes * (span.nodes() - 1) * machine.value(MachineKeys.NET_LATENCY);
        }
        return latency / 1e6 + passes * bytes * (ranks - 1.0) / ranks / link;
    }
}
