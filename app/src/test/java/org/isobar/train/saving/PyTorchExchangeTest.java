package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.isobar.backend.host.GridRanks;
import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.CheckpointMerge;
import org.isobar.checkpoint.CheckpointMetadata;
import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.checkpoint.SaveResult;
import org.isobar.checkpoint.SliceAssignment;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.ThreadMessages;
import org.isobar.nn.Parameter;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.TrainStep;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Weights that two ranks trained and wrote in slices give the same predictions in PyTorch, whose model
 * ({@code tools/reference}) loads them without missing or unexpected names. PyTorch's weights give the same predictions
 * in Isobar.
 */
@Execution(ExecutionMode.CONCURRENT)
class PyTorchExchangeTest {
    private static final VitConfig MODEL = new VitConfig(16, 32, 8, 3, 2, 24, 2, 4, 96, 0);
    private static final double TOLERANCE = 1e-5; // of outputs, as for golden cases
    private static final long PATIENCE_SECONDS = 120;
    private static final String LOADS = """
        import sys
        import torch
        import safetensors_io
        import vit_reference
        torch.manual_seed(3)
        model = vit_reference.VisionTransformer(vit_reference.Config((16, 32), 8, 3, 2, 24, 2, 4))
        image = torch.sin(0.013 * torch.arange(3 * 16 * 32, dtype=torch.float64)).float().reshape(1, 3, 16, 32)
        """;
    private static final String MERGED = LOADS + """
        tensors = safetensors_io.decode(open(sys.argv[1], "rb").read())
        model.load_state_dict({name: torch.tensor(array) for name, array in tensors.items()}, strict=True)
        safetensors_io.write(sys.argv[2], safetensors_io.encode({"output": model(image).detach().numpy()}))
        """;
    private static final String BACK = LOADS + """
        tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        safetensors_io.write(sys.argv[1], safetensors_io.encode(tensors))
        safetensors_io.write(sys.argv[2], safetensors_io.encode({"output": model(image).detach().numpy()}))
        """;

    private final List<RankMessages> messages = ThreadMessages.of(2);
    @TempDir
    private Path directory;

    @Test
    void pyTorchPredictsTheSameWithMergedWeights() throws Exception {
        String python = python();
        List<float[]> predictions = onTwoRanks((replica, communicators, image, target) -> {
            replica.model().initialize(5);
            for (int step = 0; step < 3; step++) {
                replica.step().run(image, target, new TrainStep.Context(5, step, IndexSpan.whole(1), 1e-2));
            }
            assertEquals(new SaveResult.Done(directory.resolve("checkpoint-3")), save(replica, communicators));
            return predict(replica, image, target);
        });
        Path merged = directory.resolve("model.safetensors");
        try (Checkpoint checkpoint = Checkpoint.open(directory.resolve("checkpoint-3"))) {
            assertTrue(checkpoint.names().stream().anyMatch(name -> checkpoint.slices(name).size() == 2));
            CheckpointMerge.write(checkpoint, CheckpointMerge.Contents.WEIGHTS, merged);
        }
        Path output = directory.resolve("output.safetensors");
        run(python, MERGED, merged, output);
        assertNear(output(output), predictions);
    }

    @Test
    void isobarPredictsTheSameWithPyTorchWeights() throws Exception {
        String python = python();
        Path weights = directory.resolve("model.safetensors");
        Path output = directory.resolve("output.safetensors");
        run(python, BACK, weights, output);
        assertNear(output(output), onTwoRanks((replica, communicators, image, target) -> {
            replica.model().initialize(5);
            new WeightsFile(replica.model().parameters(), replica.model().device(), communicators)
                .load(weights); // --init_weights
            return predict(replica, image, target);
        }));
    }

    /** Test body that runs on each rank with its part of the model. */
    private interface Rank {
        float[] run(Replica replica, Communicators communicators, Tensor image, Tensor target);
    }

    private static List<float[]> onTwoRanks(Rank rank) throws Exception {
        return GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.TP, 2)), (device, communicators) -> {
            MemoryPlan plan = MemoryPlan.of(MODEL, 1);
            device.reserve(plan.footprint());
            try (StepMemory memory = plan.allocate(device);
                DeviceArena images = device.arena("images", 1 << 16)) {
                Replica replica = new Replica(device, MODEL, 1, memory, communicators, GradientSync.Options.DEFAULT);
                return rank.run(replica, communicators, wave(device, images, MODEL.inChannels(), 0.013),
                    wave(device, images, MODEL.outChannels(), 0.017));
            }
        });
    }

    private static Tensor wave(Device device, DeviceArena arena, int channels, double frequency) {
        Tensor tensor = arena.f32(1, channels, MODEL.height(), MODEL.width());
        float[] values = new float[(int) tensor.elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.sin(frequency * i);
        }
        device.upload(tensor, MemorySegment.ofArray(values));
        return tensor;
    }

    /** Each rank writes its slices, and its share of the replicated weights. */
    private SaveResult save(Replica replica, Communicators communicators) {
        int rank = communicators.coordinate(Axis.TP);
        Map<String, Tensor> weights = replica.model().parameters().stateDict();
        List<TensorSlice> own = new ArrayList<>();
        List<TensorSlice> shared = new ArrayList<>();
        for (Parameter parameter : replica.model().parameters().parameters()) {
            for (Parameter.Part part : parameter.parts()) {
                TensorSlice piece = new TensorSlice(part.name(), part.shape(), part.shard(),
                    memory -> replica.model().device().download(memory, weights.get(part.name())));
                (part.shard().parts() > 1 ? own : shared).add(piece);
            }
        }
        own.addAll(SliceAssignment.assign(shared, TensorSlice::bytes, 2, rank));
        return new CheckpointWriter(directory, "this run", rank, messages.get(rank),
            Duration.ofSeconds(PATIENCE_SECONDS))
            .write(3, own, new CheckpointMetadata(Map.of(), Map.of()));
    }

    private static float[] predict(Replica replica, Tensor image, Tensor target) {
        replica.evaluator().evaluate(image, target);
        float[] prediction = new float[(int) replica.model().prediction().elements()];
        replica.model().device().download(MemorySegment.ofArray(prediction), replica.model().prediction());
        return prediction;
    }

    private static float[] output(Path file) {
        try (SafeTensorsFile tensors = SafeTensorsFile.open(file)) {
            float[] output = new float[(int) tensors.shape("output").elements()];
            tensors.read("output", MemorySegment.ofArray(output));
            return output;
        }
    }

    /** Compares the predictions of all ranks with the expected one, by ||difference|| / ||expected||. */
    private static void assertNear(float[] expected, List<float[]> predictions) {
        for (float[] prediction : predictions) {
            assertEquals(expected.length, prediction.length);
            double difference = 0;
            double norm = 0;
            for (int i = 0; i < expected.length; i++) {
                difference += Math.pow((double) prediction[i] - expected[i], 2);
                norm += Math.pow(expected[i], 2);
            }
            assertTrue(norm > 0);
            assertTrue(Math.sqrt(difference / norm) <= TOLERANCE, "error " + Math.sqrt(difference / norm));
        }
    }

    /** Returns a Python with PyTorch; skips the test if there is none. */
    private String python() throws IOException, InterruptedException {
        Optional<String> found = Optional.empty();
        for (String candidate : List.of("python3", "/usr/bin/python3")) {
            if (found.isEmpty() && exitCode(candidate, "import numpy, torch") == 0) {
                found = Optional.of(candidate);
            }
        }
        assumeTrue(found.isPresent(), "no python3 on this machine has PyTorch");
        return found.get();
    }

    private void run(String python, String script, Path... arguments) throws IOException, InterruptedException {
        assertEquals(0, exitCode(python, script, arguments), () -> said());
    }

    private int exitCode(String python, String script, Path... arguments) throws IOException, InterruptedException {
        List<String> command = Stream.concat(Stream.of(python, "-c", script),
            Stream.of(arguments).map(Path::toString)).toList();
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
            .redirectOutput(directory.resolve("said").toFile());
        builder.environment().put("PYTHONPATH", Path.of("..", "tools", "reference").toAbsolutePath().toString());
        builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
        Process process;
        try {
            process = builder.start();
        } catch (IOException absent) {
            return -1;
        }
        boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        process.destroyForcibly();
        assertTrue(ended, "python3 did not end");
        return process.exitValue();
    }

    private String said() {
        try {
            return Files.readString(directory.resolve("said"));
        } catch (IOException e) {
            return e.toString();
        }
    }
}
