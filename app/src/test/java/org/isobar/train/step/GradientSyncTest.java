package org.isobar.train.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.isobar.backend.host.ForwardingCommunicator;
import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.model.Model;
import org.isobar.nn.Parameter;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** Tests when the gradients of a model are reduced, by the order of events on each rank. */
class GradientSyncTest {
    private static final VitConfig MODEL = new VitConfig(24, 40, 8, 3, 2, 24, 3, 4, 96, 0);
    private static final String REDUCE = "reduce ";
    private static final String FIRST_DONE = "first bucket reduced";

    @Test
    void bucketsAreIssuedAndReducedWhileBackwardStillRuns() throws Exception {
        List<List<String>> logs = GridRanks.run(grid(1, 2), Recording::new,
            (device, communicators) -> backward(device, communicators, 0.02));
        List<String> events = logs.getFirst();
        long buckets = events.stream().filter(event -> event.startsWith(REDUCE)).count();
        assertTrue(buckets > 5, events::toString);
        assertTrue(events.getLast().startsWith(REDUCE),
            events::toString); // the bucket of the gradients that were completed last
        assertTrue(events.indexOf("complete blocks.2.attn.q.weight") > events.indexOf(first(events, REDUCE)));
        assertTrue(events.subList(0, events.indexOf(FIRST_DONE)).stream()
            .filter(event -> event.startsWith(REDUCE)).count() >= 5, events::toString);
        assertTrue(events.indexOf(FIRST_DONE) < events.indexOf("complete pos_embed"), events::toString);
        assertEquals(logs.get(0), logs.get(1));
    }

    @Test
    void ranksOfOneModelIssueTheSameBucketsInTheSameOrder() throws Exception {
        List<List<String>> logs = GridRanks.run(grid(2, 2), Recording::new,
            (device, communicators) -> backward(device, communicators, 0.02));
        logs.forEach(log -> assertEquals(logs.getFirst(), log));
    }

    @Test
    void oneLargeBucketWaitsForAllItsGradients() throws Exception {
        List<String> events = GridRanks.run(grid(1, 2), Recording::new,
            (device, communicators) -> backward(device, communicators, 25)).getFirst();
        assertEquals(List.of(0L, 1L), List.of(
            events.stream().limit(events.size() - 1).filter(event -> event.startsWith(REDUCE)).count(),
            events.stream().filter(event -> event.startsWith(REDUCE)).count()), events::toString);
    }

    private static String first(List<String> events, String prefix) {
        return events.stream().filter(event -> event.startsWith(prefix)).findFirst().orElseThrow();
    }

    private static ProcessGrid grid(int cp, int dp) {
        return ProcessGrid.of("tp-cp-dp", Map.of(Axis.CP, cp, Axis.DP, dp));
    }

    /** Records each reduction of gradients; this test has no other all-reduces. */
    private static final class Recording extends ForwardingCommunicator {
        private final List<String> events = new ArrayList<>();
        private Work first;

        Recording(Communicator inner) {
            super(inner);
        }

        @Override
        public Work allReduce(Tensor tensor, Reduction reduction) {
            events.add(REDUCE + tensor.elements());
            Work work = super.allReduce(tensor, reduction);
            first = first == null ? work : first;
            return work;
        }
    }

    /** Runs forward and backward of a model; returns the events in order. */
    private static List<String> backward(Device device, Communicators communicators, double capMb) throws Exception {
        MemoryPlan plan = MemoryPlan.of(MODEL, 1, communicators.grid(), 0); // rank 0 has the most tokens
        device.reserve(plan.footprint());
        try (StepMemory memory = plan.allocate(device); DeviceArena images =
            device.arena("images", 1 << 20)) {
            ParameterStore parameters = new ParameterStore();
            Model model = MODEL.create(parameters, communicators);
            Tensor values = memory.state().f32(parameters.elements());
            parameters.bind(values, memory.state().f32(parameters.elements()));
            parameters.initialize(device, 1);
            GradientSync sync = new GradientSync(parameters, communicators,
                new GradientSync.Options(capMb, GradientSync.Replicas.TOGETHER));
            Recording recording = (Recording) communicators.along(Axis.CP, Axis.DP);
            Parameter last = parameters.parameters().getFirst();
            Pass.Masks masks = new Pass.Masks(1, 0, IndexSpan.whole(1));
            Pass pass = new Pass(device.ops(), memory.kept(), memory.scratch(), masks,
                parameter -> {
                    if (parameter == last && recording.first != null) {
                        awaitDone(recording.first); // while backward of this rank still runs
                        recording.events.add(FIRST_DONE);
                    }
                    recording.events.add("complete " + parameter.parts().getFirst().name());
                    sync.ready(parameter);
                });
            Tensor image = random(device, images.f32(1, MODEL.inChannels(), MODEL.height(), MODEL.width()));
            Tensor prediction = images.f32(1, MODEL.outChannels(), MODEL.height(), MODEL.width());
            model.forward(prediction, image, pass);
            model.backward(random(device, prediction), image, pass);
            pass.finish();
            sync.await();
            return recording.events;
        }
    }

    private static void awaitDone(Work work) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!work.done()) {
            assertTrue(System.nanoTime() < deadline, "not reduced while backward goes on");
            Thread.onSpinWait();
        }
    }

    private static Tensor random(Device device, Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.elements())];
        Arrays.fill(values, 0.5f);
        device.upload(tensor, MemorySegment.ofArray(values));
        return tensor;
    }
}
