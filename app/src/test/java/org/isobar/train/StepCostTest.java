package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.isobar.backend.host.CountedGroup;
import org.isobar.config.RunConfig;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;
import org.isobar.train.collectives.CollectiveEvent;
import org.isobar.train.collectives.RankRoles;
import org.isobar.train.collectives.RankTrace;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the collectives between CPUs cost a rank, from the start of a run to the end of its first step: the dry run says
 * which they are, and each rank of the job runs its own of them, as between sockets, over counted links in memory.
 */
class StepCostTest {
    private static final int CHUNK = 1 << 12;
    private static final List<String> PHASES = List.of("start", "scores before training", CollectiveRehearsal.STEP + 1);

    @TempDir
    private Path directory;

    /** What a rank has sent, and the number of its all-reduces in groups that grow with the job. */
    private record Cost(long messages, long bytes, long links, long largeAllReduces) { }

    @ParameterizedTest
    @ValueSource(ints = {64, 512})
    void messagesOfARankGrowWithTheLogarithm(int ranks) throws Exception {
        check(ranks);
    }

    @Tag("slow")
    @ParameterizedTest
    @ValueSource(ints = {96, 1024, 16_384})
    void messagesOfARankGrowWithTheLogarithmFurther(int ranks) throws Exception {
        check(ranks);
    }

    private void check(int ranks) throws Exception {
        RunConfig config = TinyRun.jobConfig(directory, directory, ranks, "tensor_parallel=2", "context_parallel=2",
            "depth=1", "embed_dim=16", "num_heads=2", "n_in_channels=1", "n_out_channels=1",
            "global_batch_size=" + ranks / 4);
        List<Cost> costs = run(traces(config));
        int rounds = Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1); // log2, rounded up
        Cost most = new Cost(costs.stream().mapToLong(Cost::messages).max().orElseThrow(),
            costs.stream().mapToLong(Cost::bytes).max().orElseThrow(),
            costs.stream().mapToLong(Cost::links).max().orElseThrow(), costs.getFirst().largeAllReduces());
        String found = ranks + " ranks, one at most " + most + ", rank 0 " + costs.getFirst();
        assertTrue(most.largeAllReduces >= 5, found);
        assertTrue(most.messages <= 60 + most.largeAllReduces * (rounds + 3), found);
        assertTrue(most.bytes <= 70_000, found);
        assertTrue(most.links <= 8 + 3 * rounds, found);
    }

    private static List<RankTrace> traces(RunConfig config) {
        RankRoles roles = new RankRoles(config.grid());
        Map<Integer, RankTrace> recorded = new HashMap<>();
        try (CollectiveRehearsal rehearsal =
            new CollectiveRehearsal(config, DType.F32, new CollectiveRehearsal.Length(1, 1, 0))) {
            for (int rank : roles.representatives()) {
                recorded.put(rank, rehearsal.record(rank, DryScenario.Event.NONE, DryScenario.Cause.PEER).trace());
            }
        }
        return roles.spread(recorded);
    }

    private static List<Cost> run(List<RankTrace> traces) throws Exception {
        Map<List<Object>, CountedGroup> groups = new ConcurrentHashMap<>(); // by name and first rank
        List<Future<Cost>> running = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor(); Arena arena = Arena.ofShared()) {
            for (int rank = 0; rank < traces.size(); rank++) {
                int own = rank;
                running.add(threads.submit(() -> run(traces.get(own), own, groups, arena)));
            }
            List<Cost> costs = new ArrayList<>();
            for (Future<Cost> each : running) {
                costs.add(each.get());
            }
            return costs;
        }
    }

    private static Cost run(RankTrace trace, int rank, Map<List<Object>, CountedGroup> groups, Arena arena)
        throws Exception {
        Map<String, CountedGroup.Member> members = new HashMap<>();
        List<CollectiveEvent> events = trace.events().stream().filter(event -> PHASES.contains(event.phase())).toList();
        MemorySegment memory = arena.allocate(events.stream().filter(event -> !event.opens())
            .mapToLong(event -> event.call().elements() * event.call().dtype().bytes()).max().orElseThrow(), 64);
        long large = 0;
        for (CollectiveEvent event : events) {
            List<Integer> ranks = trace.groups().get(event.group());
            if (event.opens()) {
                CountedGroup group = groups.computeIfAbsent(List.of(event.group(), ranks.getFirst()),
                    any -> new CountedGroup(List.copyOf(ranks)));
                members.put(event.group(), group.new Member(new ProcessGroup(event.group(), group.ranks(), rank), arena,
                    CHUNK));
            } else {
                run(members.get(event.group()), event.call(), memory, ranks.size());
                large += ranks.size() > 2 ? 1 : 0;
            }
        }
        return new Cost(members.values().stream().mapToLong(CountedGroup.Member::messages).sum(),
            members.values().stream().mapToLong(CountedGroup.Member::bytes).sum(),
            members.values().stream().mapToLong(CountedGroup.Member::links).sum(), large);
    }

    /** All-reduces ones. */
    private static void run(CountedGroup.Member member, CollectiveCall call, MemorySegment memory, int ranks)
        throws Exception {
        if (call.kind() != Kind.ALL_REDUCE) {
            member.run(call, memory);
            return;
        }
        long last = call.elements() - 1;
        for (long i = 0; i <= last; i++) {
            set(memory, call.dtype(), i);
        }
        member.run(call, memory);
        double expected = call.reduction().scale(ranks) * (call.reduction().kind() == Reduction.Kind.MAX ? 1 : ranks);
        assertEquals(expected, get(memory, call.dtype(), 0), 1e-6 * expected, call.toString());
        assertEquals(expected, get(memory, call.dtype(), last), 1e-6 * expected, call.toString());
    }

    private static void set(MemorySegment memory, DType dtype, long index) {
        if (dtype == DType.F32) {
            memory.setAtIndex(ValueLayout.JAVA_FLOAT, index, 1);
        } else {
            memory.setAtIndex(ValueLayout.JAVA_DOUBLE, index, 1);
        }
    }

    private static double get(MemorySegment memory, DType dtype, long index) {
        return dtype == DType.F32 ? memory.getAtIndex(ValueLayout.JAVA_FLOAT, index)
            : memory.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
    }
}
