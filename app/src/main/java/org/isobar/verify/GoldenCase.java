package org.isobar.verify;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntToDoubleFunction;
import java.util.function.ToDoubleFunction;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Communicators;
import org.isobar.nn.ParameterStore;
import org.isobar.nn.Pass;
import org.isobar.optim.LearningRateSchedule;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.Evaluation;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.StepOptions;
import org.isobar.train.step.TrainStep;
import org.isobar.vit.VitConfig;

/**
 * Reference results of a model, computed by PyTorch in double precision (tools/reference): losses, scores, prediction,
 * all gradients, and the weights after some steps of Adam. Initial weights and images are given by formulas. Running
 * the case measures the errors of a device against these results.
 */
public final class GoldenCase {
    private final String name;
    private final JsonNode reference;
    private final VitConfig config;
    private final int batch;

    /**
     * Error of one result.
     *
     * @param what      what was compared, such as "gradient of norm.weight"
     * @param error     ||difference|| / ||reference||
     * @param tolerance the largest error allowed
     */
    public record Deviation(String what, double error, double tolerance) {
        /** Whether the error is within the tolerance. */
        public boolean isWithinTolerance() {
            return error <= tolerance;
        }

        /** The error as a fraction of the tolerance. */
        public double fractionOfTolerance() {
            return error / tolerance;
        }
    }

    private GoldenCase(String name, JsonNode reference) {
        this.name = name;
        this.reference = reference;
        JsonNode c = reference.get("config");
        int embed = c.get("embed_dim").asInt();
        config = new VitConfig(c.get("img_size").get(0).asInt(), c.get("img_size").get(1).asInt(),
            c.get("patch_size").asInt(), c.get("n_in_channels").asInt(), c.get("n_out_channels").asInt(), embed,
            c.get("depth").asInt(), c.get("num_heads").asInt(), 4 * embed, 0);
        batch = c.get("batch").asInt();
    }

    /** Loads all cases. */
    public static List<GoldenCase> all() {
        List<GoldenCase> cases = new ArrayList<>();
        for (JsonNode name : json("index").get("cases")) {
            cases.add(new GoldenCase(name.asText(), json(name.asText())));
        }
        return cases;
    }

    /** The name of the case. */
    public String name() {
        return name;
    }

    /**
     * Runs the case with matrix products in {@code compute}, on a device without other memory reservations. The loss is
     * scaled as in training.
     */
    public List<Deviation> run(Device device, DType compute) {
        MemoryPlan plan = MemoryPlan.of(config, batch, compute);
        device.reserve(plan.footprint());
        Shape inputs = Shape.of(batch, config.inChannels(), config.height(), config.width());
        Shape targets = Shape.of(batch, config.outChannels(), config.height(), config.width());
        try (StepMemory memory = plan.allocate(device);
            HostBuffer input = device.hostBuffer(DType.F32, inputs);
            HostBuffer target = device.hostBuffer(DType.F32, targets);
            SafeTensorsFile tensors = tensors(name)) {
            Replica replica =
                new Replica(device, config, batch, memory, Communicators.alone(device.ops().memory()::copy),
                StepOptions.of(compute, GradientSync.Options.DEFAULT));
            fill(input.segment(), i -> Math.sin(0.013 * i));
            fill(target.segment(), i -> Math.cos(0.017 * i + 0.5));
            initialize(replica);
            return new Run(replica, input.toDevice(), target.toDevice(), tensors,
                GoldenBounds.of(device, compute, json("precision").get(name))).deviations();
        }
    }

    /** The shapes of the model's attention. */
    public Set<AttentionShape> attentionShapes(DType compute) {
        return MemoryPlan.of(config, batch, compute).footprint().attention();
    }

    /** The sizes of the model. */
    VitConfig config() {
        return config;
    }

    private void initialize(Replica replica) {
        replica.model().initialize(0);
        assign(replica.model().parameters(), replica.model().device());
    }

    /**
     * Sets element i of parameter j to base + 0.02 sin(0.37 i + 1.3 (j + 1)); base is 1 for weights of norms, else 0.
     */
    void assign(ParameterStore parameters, Device device) {
        Map<String, Tensor> weights = parameters.stateDict();
        int j = 0;
        for (JsonNode parameter : reference.get("parameters")) {
            double phase = 1.3 * ++j;
            String weight = parameter.asText();
            double base = weight.contains("norm") && weight.endsWith("weight") ? 1 : 0;
            Tensor tensor = weights.get(weight);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment host = arena.allocate(tensor.bytes(), Float.BYTES);
                fill(host, i -> base + 0.02 * Math.sin(0.37 * i + phase));
                device.upload(tensor, host);
            }
        }
        parameters.refresh(device.ops());
    }

    private static void fill(MemorySegment host, IntToDoubleFunction formula) {
        for (int i = 0; i < host.byteSize() / Float.BYTES; i++) {
            host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) formula.applyAsDouble(i));
        }
    }

    /** One run of the case on a replica. */
    private final class Run {
        private final Replica replica;
        private final Tensor input;
        private final Tensor target;
        private final SafeTensorsFile tensors;
        private final GoldenBounds bounds;
        private final List<Deviation> deviations = new ArrayList<>();

        Run(Replica replica, Tensor input, Tensor target, SafeTensorsFile tensors, GoldenBounds bounds) {
            this.replica = replica;
            this.input = input;
            this.target = target;
            this.tensors = tensors;
            this.bounds = bounds;
        }

        List<Deviation> deviations() {
            Evaluation evaluation = replica.evaluator().evaluate(input, target);
            compare("prediction", "output", replica.model().prediction(), bounds.output());
            compare("score of channel ", evaluation.rmse());
            replica.step().gradients(input, target, new Pass.None());
            compareAll("gradient of ", "grad.", replica.model().parameters().gradientDict(), bounds.gradient());
            int steps = reference.get("losses").size();
            JsonNode c = reference.get("config");
            LearningRateSchedule schedule = new LearningRateSchedule.Cosine(c.get("lr").asDouble(),
                c.get("num_iters").asLong(), c.get("warmup").asLong());
            for (int step = 0; step < steps; step++) {
                double loss = replica.step().run(input, target,
                    new TrainStep.Context(0, step, IndexSpan.whole(batch), schedule.at(step)));
                compare("loss of step " + step, loss, reference.get("losses").get(step).asDouble());
            }
            compare("loss after the last step", replica.evaluator().evaluate(input, target).loss(),
                reference.get("loss_after")
                .asDouble());
            compareAll("weights after five steps: ", "after.", replica.model().parameters().stateDict(),
                bounds.weight());
            return deviations;
        }

        private void compare(String what, double[] scores) {
            for (int i = 0; i < scores.length; i++) {
                compare(what + i, scores[i], reference.get("rmse").get(i).asDouble());
            }
        }

        private void compare(String what, double value, double expected) {
            deviations.add(new Deviation(what, Math.abs(value - expected) / Math.abs(expected), bounds.output()));
        }

        private void compareAll(String what, String prefix, Map<String, Tensor> named,
            ToDoubleFunction<String> tolerance) {
            named.forEach((weight, tensor) -> {
                if (tensors.names().contains(prefix + weight)) {
                    compare(what + weight, prefix + weight, tensor, tolerance.applyAsDouble(weight));
                }
            });
        }

        private void compare(String what, String key, Tensor tensor, double tolerance) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment expected = arena.allocate(tensor.bytes(), Float.BYTES);
                MemorySegment actual = arena.allocate(tensor.bytes(), Float.BYTES);
                tensors.read(key, expected);
                replica.model().device().download(actual, tensor);
                deviations.add(new Deviation(what, relativeError(actual, expected), tolerance));
            }
        }
    }

    private static double relativeError(MemorySegment actual, MemorySegment expected) {
        double difference = 0;
        double norm = 0;
        for (long i = 0; i < expected.byteSize() / Float.BYTES; i++) {
            double e = expected.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            double d = actual.getAtIndex(ValueLayout.JAVA_FLOAT, i) - e;
            difference += d * d;
            norm += e * e;
        }
        return Math.sqrt(difference / norm);
    }

    private static JsonNode json(String resource) {
        try (InputStream stream = GoldenCase.class.getResourceAsStream("golden/" + resource + ".json")) {
            return new ObjectMapper().readTree(stream);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Opens the tensors of a case. A resource of a jar cannot be mapped, so it is copied to a temporary file. */
    private static SafeTensorsFile tensors(String resource) {
        try (InputStream stream = GoldenCase.class.getResourceAsStream("golden/" + resource + ".safetensors")) {
            Path file = Files.createTempFile("isobar-" + resource, ".safetensors");
            try {
                Files.copy(stream, file, StandardCopyOption.REPLACE_EXISTING);
                return SafeTensorsFile.open(file);
            } finally {
                Files.delete(file); // the mapping stays valid
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
