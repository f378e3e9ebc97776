package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RankMessages.Urgency;
import org.isobar.distributed.Shard;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.ManyRanks;
import org.isobar.distributed.job.TreeMessages;
import org.isobar.os.CountingFiles;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a job of many ranks sends, receives and asks of the file system, counted in memory: the bounds are the same for
 * every number of ranks, except those of rank 0, which grow with it.
 */
@Execution(ExecutionMode.SAME_THREAD)
class ManyRanksCostTest {
    private static final Duration LIMIT = Duration.ofMinutes(5);
    private static final int TENSORS = 40;
    private static final Shape SHAPE = Shape.of(1000);
    private static final int SHARDS = 20;
    private static final long SHARD_BYTES = 2 * 4000; // two tensors

    @TempDir
    private Path directory;

    /** The cost of a phase for one rank. */
    private record Cost(ManyRanks.Traffic traffic, long opens, long stats) { }

    /** The job and the files of each rank. */
    private record Cluster(ManyRanks ranks, List<CountingFiles> files) {
        List<Cost> now() {
            return IntStream.range(0, files.size()).mapToObj(rank -> new Cost(ranks.traffic(rank),
                files.get(rank).opens(), files.get(rank).stats())).toList();
        }

        /** What each rank has spent since then. */
        List<Cost> since(List<Cost> before) {
            List<Cost> after = now();
            return IntStream.range(0, files.size()).mapToObj(rank -> new Cost(
                after.get(rank).traffic.since(before.get(rank).traffic),
                after.get(rank).opens - before.get(rank).opens, after.get(rank).stats - before.get(rank).stats))
                .toList();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {64, 256, 1024})
    void costsOfARankDoNotGrow(int count) throws Exception {
        measure(count);
    }

    @Tag("slow")
    @ParameterizedTest
    @ValueSource(ints = 16_384)
    void costsOfARankDoNotGrowFurther(int count) throws Exception {
        measure(count);
    }

    private void measure(int count) throws Exception {
        List<CountingFiles> files = Stream.generate(CountingFiles::new).limit(count).toList();
        List<Cost> nothing = Collections.nCopies(count, new Cost(new ManyRanks.Traffic(0, 0, 0), 0, 0));
        try (ManyRanks ranks = ManyRanks.counted(count)) {
            Cluster cluster = new Cluster(ranks, files);
            new Bounds(80, 130, 210, 10_000, 0, 0).check("start", cluster.since(nothing));
            List<Cost> started = cluster.now();
            List<RankMessages> messages = ranks.run(TreeMessages::of);
            assertEquals(Collections.nCopies(count, Optional.empty()), ranks.run(job -> save(job, messages, files)));
            new Bounds(60, 80, 0, 10_000, 4, 4).check("save", cluster.since(started));
            List<Cost> saved = cluster.now();
            assertEquals(Collections.nCopies(count, List.of()), ranks.run(job -> resume(job, messages, files)));
            new Bounds(25, 10, 0, 1000, 4, 8).check("resume", cluster.since(saved));
        }
    }

    /**
     * What a phase may cost.
     *
     * @param messages sent by a rank other than 0
     * @param received bytes that rank 0 receives, for each rank
     * @param sent     bytes that rank 0 sends, for each rank
     * @param fixed    bytes that rank 0 sends or receives besides, whatever the number of ranks
     * @param opens    files opened by a rank other than 0
     * @param stats    requests about attributes of files by a rank other than 0
     */
    private record Bounds(long messages, long received, long sent, long fixed, long opens, long stats) {
        void check(String phase, List<Cost> costs) {
            int count = costs.size();
            Cost root = costs.getFirst();
            String found = phase + " of " + count + " ranks: others send at most " + most(costs,
                cost -> cost.traffic.messages()) + " messages, open " + most(costs, Cost::opens) + " files and make "
                + most(costs, Cost::stats) + " requests about others; rank 0: " + root;
            assertTrue(most(costs, cost -> cost.traffic.messages()) <= messages, found);
            assertTrue(most(costs, Cost::opens) <= opens && most(costs, Cost::stats) <= stats, found);
            assertTrue(root.traffic.received() <= fixed + received * count, found);
            assertTrue(root.traffic.sent() <= fixed + sent * count, found);
            assertTrue(root.opens <= SHARDS + 10 && root.stats <= SHARDS + 10, found);
        }

        private static long most(List<Cost> costs, ToLongFunction<Cost> value) {
            return costs.stream().skip(1).mapToLong(value).max().orElseThrow();
        }
    }

    private Optional<String> save(Job job, List<RankMessages> messages, List<CountingFiles> files) {
        List<TensorSlice> all = IntStream.range(0, TENSORS).mapToObj(tensor ->
            new TensorSlice("w" + tensor, SHAPE, Shard.whole(), memory -> memory.fill((byte) 0))).toList();
        SaveResult result = new CheckpointWriter(files.get(job.rank()).path(directory), "this run", job.rank(),
            messages.get(job.rank()), LIMIT).write(1, SliceAssignment.assign(all, TensorSlice::bytes, job.worldSize(),
                job.rank(), SHARD_BYTES), new CheckpointMetadata(Map.of(), Map.of()));
        return result instanceof SaveResult.Failed failed ? Optional.of(failed.reason()) : Optional.empty();
    }

    /** Checks this rank's share of the files, reports to rank 0 and reads one tensor. Returns damage. */
    private List<String> resume(Job job, List<RankMessages> messages, List<CountingFiles> files) throws Exception {
        RankMessages own = messages.get(job.rank());
        try (Checkpoint checkpoint = Checkpoint.openChecked(files.get(job.rank()).path(directory)
            .resolve("checkpoint-1"))) {
            List<String> damage = checkpoint.verify(job.rank(), job.worldSize());
            if (job.rank() == 0) {
                assertEquals(job.worldSize() - 1, own.gather("resume check", LIMIT).size());
                own.announce("resume from", new byte[8]);
            } else {
                own.report("resume check", new byte[0], Urgency.NORMAL);
                assertTrue(own.await("resume from", LIMIT).isPresent());
            }
            checkpoint.read("w" + job.rank() % TENSORS, MemorySegment.ofArray(new float[1000]));
            return damage;
        }
    }
}
