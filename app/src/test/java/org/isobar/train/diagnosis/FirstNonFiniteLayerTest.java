package org.isobar.train.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.backend.host.GridRanks;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Pass;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every rank names the same first layer: the one with the non-finite weight. */
class FirstNonFiniteLayerTest {
    private static final VitConfig MODEL = new VitConfig(16, 32, 8, 2, 2, 32, 2, 4, 64, 0);
    private static final List<String> LAYERS = List.of("patch_embed.proj", "pos_drop",
        "blocks.0.norm1", "blocks.0.attn.k", "blocks.0.attn.v", "blocks.0.attn.q", "blocks.0.attn.proj",
        "blocks.0.norm2", "blocks.0.mlp.fc1", "blocks.0.mlp.fc2", "blocks.0",
        "blocks.1.norm1", "blocks.1.attn.k", "blocks.1.attn.v", "blocks.1.attn.q", "blocks.1.attn.proj",
        "blocks.1.norm2", "blocks.1.mlp.fc1", "blocks.1.mlp.fc2", "blocks.1", "norm", "head");

    /** Test body that runs on each rank with its replica and an image. */
    private interface Rank<T> {
        T run(Replica replica, Tensor image, Communicators communicators);
    }

    private static <T> List<T> on(Map<Axis, Integer> sizes, Rank<T> body) throws Exception {
        ProcessGrid grid = ProcessGrid.of("tp-cp-dp", sizes);
        return GridRanks.run(grid, (device, communicators) -> {
            MemoryPlan plan = MemoryPlan.of(MODEL, 1, grid, rank(communicators));
            device.reserve(plan.footprint());
            try (StepMemory memory = plan.allocate(device); DeviceArena images =
                device.arena("i", 1 << 14)) {
                Replica replica = new Replica(device, MODEL, 1, memory, communicators, GradientSync.Options.DEFAULT);
                replica.model().initialize(5);
                Tensor image = images.f32(1, 2, 16, 32);
                device.ops().memory().fill(image, 0.5);
                return body.run(replica, image, communicators);
            }
        });
    }

    private static int rank(Communicators communicators) {
        return communicators.along(Axis.values()).group().index();
    }

    private static void poison(Replica replica, String name) {
        Tensor weight = replica.model().parameters().stateDict().get(name);
        Device device = replica.model().device();
        device.upload(weight.reshape(weight.elements()).slice(weight.elements() - 1, 1),
            MemorySegment.ofArray(new float[] {Float.NaN}));
    }

    @Test
    void layersReportInForwardOrderWithPyTorchNames() throws Exception {
        assertEquals(List.of(LAYERS), on(Map.of(), (replica, image, _) -> {
            List<String> seen = new ArrayList<>();
            replica.model().forward(image, new Pass.None(), (modules, _) -> seen.addAll(modules));
            return seen;
        }));
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "2, 1, 1", "1, 2, 1", "1, 1, 2", "2, 2, 1"})
    void ranksAgreeForEveryPositionOfTheBadWeight(int tp, int cp, int dp) throws Exception {
        Map<Axis, Integer> sizes = Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp);
        for (String layer : List.of("patch_embed.proj", "blocks.0.attn.v", "blocks.1.attn.q", "blocks.1.attn.proj",
                "blocks.0.mlp.fc1", "blocks.1.mlp.fc2", "norm", "head")) {
            List<Optional<String>> named = on(sizes, (replica, image, communicators) -> {
                if (rank(communicators) == tp * cp * dp - 1) { // the shares of the other ranks are finite
                    poison(replica, layer + ".weight");
                }
                return FirstNonFiniteLayer.find(replica, image, new Pass.None());
            });
            assertEquals(Collections.nCopies(tp * cp * dp, Optional.of(layer)), named);
        }
        assertEquals(Collections.nCopies(tp * cp * dp, Optional.empty()),
            on(sizes, (replica, image, _) -> FirstNonFiniteLayer.find(replica, image, new Pass.None())));
    }
}
