package org.isobar.export.onnx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;

import ai.onnxruntime.OrtException;
import onnx.Onnx.ModelProto;
import onnx.Onnx.TensorProto;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.data.Normalization;
import org.isobar.device.Device;
import org.isobar.fault.UserException;
import org.isobar.model.ModelSpec;
import org.isobar.model.Operator;
import org.isobar.nn.ParameterStore;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** ONNX Runtime computes from an exported file what the forward pass computes. */
class OnnxModelTest {
    private static final double TOLERANCE = 1e-5;
    private static final VitConfig SMALL = new VitConfig(8, 16, 4, 2, 1, 16, 1, 2, 64, 0.1);

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"tiny", "demo"})
    void aPresetsModelAgrees(String preset) throws Exception {
        ModelSpec spec = ConfigLoader.load(new ConfigRequest(Path.of("..", "config", "ViT.yaml"), preset, Map.of()))
            .model();
        Path file = directory.resolve("model.onnx");
        OwnForward own = model(spec);
        float[] three = fields(own, 3);
        float[] ofThree = own.run(3, three, directory.resolve("weights"));
        float[] one = fields(own, 1);
        float[] ofOne = own.run(1, one, directory.resolve("weights"));
        export(own, file, OnnxFile.LIMIT);
        try (OnnxSession session = new OnnxSession(file)) {
            assertWithin(own.error(session.run(spec.input(3), three), ofThree));
            assertWithin(own.error(session.run(spec.input(1), one), ofOne));
        }
    }

    private static void assertWithin(double error) {
        assertTrue(error <= TOLERANCE, () -> "error " + error);
    }

    /** Its weights are large enough that attention differs from an average. */
    private static OwnForward model(ModelSpec spec) {
        float[] means = new float[spec.inChannels()];
        float[] spreads = new float[spec.inChannels()];
        for (int c = 0; c < means.length; c++) {
            means[c] = 5e4f / (c * c + 1);
            spreads[c] = 3e3f / (c + 1);
        }
        return new OwnForward(spec, new Normalization(means, spreads), OnnxModelTest::randomWeights);
    }

    private static void randomWeights(ParameterStore parameters, Device device) {
        Random random = new Random(1);
        for (Map.Entry<String, Tensor> weight : parameters.stateDict().entrySet()) {
            double base = weight.getKey().matches(".*norm.?\\.weight") ? 1 : 0;
            float[] values = new float[(int) weight.getValue().elements()];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) (base + 0.1 * random.nextGaussian());
            }
            device.upload(weight.getValue(), MemorySegment.ofArray(values));
        }
        parameters.refresh(device.ops());
    }

    private static float[] fields(OwnForward model, int batch) {
        Random random = new Random(batch);
        float[] fields = new float[(int) model.spec().input(batch).elements()];
        int pixels = model.spec().height() * model.spec().width();
        for (int i = 0; i < fields.length; i++) {
            int c = i / pixels % model.spec().inChannels();
            fields[i] = (float) (model.normalization().means()[c]
                + random.nextGaussian() * model.normalization().spreads()[c]);
        }
        return fields;
    }

    /** Exports the weights that {@link OwnForward#run} has saved. */
    private void export(OwnForward own, Path file, long limit) {
        try (SafeTensorsFile weights = SafeTensorsFile.open(directory.resolve("weights"))) {
            new OnnxModel(own.spec(), own.spec().forwardGraph().orElseThrow(), own.normalization(),
                Map.of("lead_step_hours", "6")).write(new OnnxFile(file, "--out", limit), weights);
        }
    }

    @Test
    void aModelAboveTheLimitHasItsWeightsInASecondFile() throws Exception {
        OwnForward own = model(SMALL);
        float[] fields = fields(own, 2);
        float[] expected = own.run(2, fields, directory.resolve("weights"));
        Path file = directory.resolve("model.onnx");
        Path data = directory.resolve("model.onnx.data");

        export(own, file, 1000);
        assertEquals(weights().stream().mapToLong(Long::longValue).sum() * Float.BYTES, Files.size(data));
        assertEquals(weights().size(), ModelProto.parseFrom(Files.readAllBytes(file)).getGraph().getInitializerList()
            .stream().filter(tensor -> tensor.getDataLocation() == TensorProto.DataLocation.EXTERNAL).count());
        float[] fromTwo = run(file, fields);
        assertWithin(own.error(fromTwo, expected));

        export(own, file, OnnxFile.LIMIT);
        assertFalse(Files.exists(data));
        assertArrayEquals(fromTwo, run(file, fields));
    }

    /** The number of elements of each weight that was saved. */
    private List<Long> weights() {
        try (SafeTensorsFile weights = SafeTensorsFile.open(directory.resolve("weights"))) {
            return weights.names().stream().map(name -> weights.shape(name).elements()).toList();
        }
    }

    private static float[] run(Path file, float[] fields) throws OrtException {
        try (OnnxSession session = new OnnxSession(file)) {
            assertEquals(Map.of("lead_step_hours", "6"), session.properties());
            return session.run(SMALL.input(2), fields);
        }
    }

    /** The file is the canonical encoding of its message, so a limited reader of protobuf can read it. */
    @Test
    void theFileIsOneMessage() throws IOException {
        OwnForward own = model(SMALL);
        own.run(1, fields(own, 1), directory.resolve("weights"));
        Path file = directory.resolve("model.onnx");
        export(own, file, OnnxFile.LIMIT);
        byte[] bytes = Files.readAllBytes(file);
        ModelProto model = ModelProto.parseFrom(bytes);
        assertEquals(bytes.length, model.getSerializedSize());
        assertEquals(17, model.getOpsetImport(0).getVersion());
        assertEquals("batch", model.getGraph().getInput(0).getType().getTensorType().getShape().getDim(0)
            .getDimParam());
        assertEquals(Map.of(), model.getUnknownFields().asMap());
    }

    @Test
    void aFileThatCannotBeWrittenIsSaid() throws IOException {
        OwnForward own = model(SMALL);
        own.run(1, fields(own, 1), directory.resolve("weights"));
        Path file = Files.createFile(directory.resolve("occupied")).resolve("model.onnx");
        for (long limit : new long[] {OnnxFile.LIMIT, 1000}) {
            assertTrue(assertThrows(UserException.class, () -> export(own, file, limit)).getMessage()
                .contains("--out"));
        }
    }

    @Test
    void aGraphIsChecked() {
        OnnxGraph graph = new OnnxGraph("test");
        graph.weight("w");
        assertThrows(IllegalArgumentException.class, () -> graph.scalar("w", 1));
        assertThrows(IllegalArgumentException.class, () -> graph.node("y", Operator.of("Erf"), "x"));
    }
}
