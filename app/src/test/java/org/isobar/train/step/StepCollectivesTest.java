package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.TreeMap;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests which collectives a step issues and their sizes, as in the tables of docs/parallelism.md. */
class StepCollectivesTest {
    private static final int BATCH = 3;
    private static final VitConfig MODEL = new VitConfig(40, 104, 8, 2, 2, 1024, 2, 8, 4096, 0);
    private static final GradientSync.Options ONE_BUCKET_EACH =
        new GradientSync.Options(1e6, GradientSync.Replicas.TOGETHER);
    private static final int SIGNAL = 1; // all ranks share one number: whether to save or end
    private static final long STREAM = BATCH * MODEL.tokens() * MODEL.embed(); // (B, T, E)

    @Test
    void oneRankIssuesNoCollectives() {
        assertEquals(Map.of(), step(1, 1, 1, true));
    }

    @ParameterizedTest
    @CsvSource({"2, true", "8, true", "4, false"})
    void tensorParallelismReducesTwiceInEachDirectionOfABlock(int tp, boolean training) {
        int each = training ? 4 : 2;
        int signal = training ? SIGNAL : 0;
        assertEquals(Map.of("tp all-reduce", new Total(each * MODEL.depth() + signal,
            each * MODEL.depth() * STREAM + signal)), step(tp, 1, 1, training));
    }

    @ParameterizedTest
    @CsvSource({"1, 2", "1, 4", "2, 4"})
    void contextParallelismGathersKeysAndValuesAndScattersTheirGradients(int tp, int cp) {
        long kv = MODEL.depth() * 2 * STREAM / tp;
        Map<String, Total> totals = step(tp, cp, 1, true);
        assertEquals(new Total(MODEL.depth() + 3, kv + 3 * STREAM), totals.get("cp all-gather"));
        assertEquals(new Total(MODEL.depth(), kv), totals.get("cp reduce-scatter"));
        int signal = tp == 1 ? SIGNAL : 0; // else in a separate group
        assertEquals(new Total(1 + signal, onSequenceShard(tp) + signal), totals.get("cp all-reduce"));
        assertEquals(new Total(MODEL.depth() + 1, kv + STREAM), step(tp, cp, 1, false).get("cp all-gather"));
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 2, dp", "2, 1, 2, dp", "1, 2, 4, cp-dp"})
    void gradientsAreReducedOnce(int tp, int cp, int dp, String group) {
        Map<String, Total> totals = step(tp, cp, dp, true);
        long shared = group.equals("dp") ? onSequenceShard(tp) : 0; // reduced in the same group as the others
        int signal = tp * cp == 1 ? SIGNAL : 0;
        assertEquals(shared + head() + embedding() + 1 + signal, totals.get("dp all-reduce").elements()); // 1: the loss
        if (cp > 1) {
            assertEquals(new Total(1 + SIGNAL, onSequenceShard(tp) + SIGNAL), totals.get("cp-dp all-reduce"));
        }
        assertEquals(new Total(1, 1 + MODEL.outChannels()), step(tp, cp, dp, false).get("dp all-reduce"));
    }

    /** Elements of the weights of blocks and final norm on one rank. (With these sizes none is padded.) */
    private static long onSequenceShard(int tp) {
        long embed = MODEL.embed();
        return MODEL.depth() * ((12 * embed * embed + 7 * embed) / tp + 6 * embed) + 2 * embed;
    }

    private static long head() {
        return (long) MODEL.outChannels() * MODEL.patch() * MODEL.patch() * MODEL.embed();
    }

    private static long embedding() {
        return MODEL.tokens() * MODEL.embed()
            + ((long) MODEL.inChannels() * MODEL.patch() * MODEL.patch() + 1) * MODEL.embed();
    }

    /** Collectives of rank 0 in a training step or an evaluation, by group and kind. */
    private static Map<String, Total> step(int tp, int cp, int dp, boolean training) {
        Map<String, Total> totals = new TreeMap<>();
        ProcessGrid grid = ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp));
        long room = Long.MAX_VALUE / 8;
        try (DryRunDevice device = new DryRunDevice();
            DeviceArena images = device.arena("images", room);
            StepMemory memory = new StepMemory(device.arena("state", room), device.arena("kept", room),
                device.arena("scratch", room));
            Communicators communicators = new Communicators(grid, 0, device.ops().memory()::copy,
                group -> new Counting(new DryRunCommunicator(group), totals))) {
            Replica replica = new Replica(device, MODEL, BATCH, memory, communicators, ONE_BUCKET_EACH);
            Tensor input = images.f32(BATCH, MODEL.inChannels(), MODEL.height(), MODEL.width());
            Tensor target = images.f32(BATCH, MODEL.outChannels(), MODEL.height(), MODEL.width());
            if (training) {
                replica.step().run(input, target, new TrainStep.Context(0, 0, new IndexSpan(0, dp, dp * BATCH), 0));
            } else {
                replica.evaluator().evaluate(input, target);
            }
        }
        return totals;
    }

    /**
     * Collectives of one kind in one group.
     *
     * @param calls    number of calls
     * @param elements elements of their whole tensors together
     */
    private record Total(int calls, long elements) { }

    /** Counts the collectives that the model issues. */
    private record Counting(Communicator inner, Map<String, Total> totals) implements Communicator {
        private void count(String kind, Tensor whole) {
            totals.merge(group().name() + " " + kind, new Total(1, whole.elements()),
                (a, b) -> new Total(a.calls() + b.calls(), a.elements() + b.elements()));
        }

        @Override
        public ProcessGroup group() {
            return inner.group();
        }

        @Override
        public Work allReduce(Tensor tensor, Reduction reduction) {
            count("all-reduce", tensor);
            return inner.allReduce(tensor, reduction);
        }

        @Override
        public Work allGather(Tensor out, Tensor in, long... sizes) {
            count("all-gather", out);
            return inner.allGather(out, in, sizes);
        }

        @Override
        public Work reduceScatter(Tensor out, Tensor in, Reduction reduction, long... sizes) {
            count("reduce-scatter", in);
            return inner.reduceScatter(out, in, reduction, sizes);
        }

        @Override
        public Work broadcast(Tensor tensor, int root) {
            count("broadcast", tensor);
            return inner.broadcast(tensor, root);
        }

        @Override
        public Work send(Tensor tensor, int peer) {
            count("send", tensor);
            return inner.send(tensor, peer);
        }

        @Override
        public Work receive(Tensor tensor, int peer) {
            count("receive", tensor);
            return inner.receive(tensor, peer);
        }

        @Override
        public Work barrier() {
            throw new AssertionError("a barrier within a step");
        }

        @Override
        public void close() {
            inner.close();
        }
    }
}
