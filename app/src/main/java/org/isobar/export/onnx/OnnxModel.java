package org.isobar.export.onnx;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import onnx.Onnx.ModelProto;
import onnx.Onnx.OperatorSetIdProto;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter.NamedTensor;
import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.data.Normalization;
import org.isobar.model.ForwardGraph;
import org.isobar.model.ModelSpec;
import org.isobar.model.Operator;
import org.isobar.os.ProgramVersion;
import org.isobar.tensor.Shape;

/**
 * A model as an ONNX graph that maps fields to their forecast, both in the units of the data: normalization, the
 * forward pass, and the inverse of the normalization. Its input {@code fields} is (B, Cin, H, W), its output
 * {@code forecast} (B, Cout, H, W), both F32, for any B.
 */
public final class OnnxModel {
    private static final int IR_VERSION = 8; // the first that has version 17 of the operators
    private static final String INPUT = "fields";
    private static final String OUTPUT = "forecast";

    private final OnnxGraph graph = new OnnxGraph("isobar");
    private final ModelProto.Builder model = ModelProto.newBuilder();

    /**
     * A model without its weights.
     *
     * @param spec          sizes of the model
     * @param forward       its forward pass
     * @param normalization mean and standard deviation of each input channel
     * @param properties    texts by name, which the file has as {@code metadata_props}
     */
    public OnnxModel(ModelSpec spec, ForwardGraph forward, Normalization normalization,
        Map<String, String> properties) {
        model.setIrVersion(IR_VERSION).setProducerName("Isobar").setProducerVersion(ProgramVersion.text())
            .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(ForwardGraph.OPERATOR_SET));
        properties.forEach((key, value) -> model.addMetadataProps(OnnxFile.entry(key, value)));
        String fields = graph.input(INPUT, spec.input(1), "The channels in the units of the data");
        String anomaly = graph.node("normalize.difference", Operator.of("Sub"), fields,
            channels("normalize.mean", normalization.means(), spec.inChannels()));
        String normalized = graph.node("normalize", Operator.of("Div"), anomaly,
            channels("normalize.std", normalization.spreads(), spec.inChannels()));
        String prediction = forward.build(graph, normalized);
        String scaled = graph.node("denormalize.product", Operator.of("Mul"), prediction,
            channels("denormalize.std", normalization.spreads(), spec.outChannels()));
        graph.output(graph.node(OUTPUT, Operator.of("Add"), scaled,
            channels("denormalize.mean", normalization.means(), spec.outChannels())), spec.prediction(1),
            "The first channels one lead step later, in the units of the data");
    }

    /** A constant (1, count, 1, 1) of the first values. */
    private String channels(String name, float[] values, int count) {
        return graph.floats(name, Shape.of(1, count, 1, 1), Arrays.copyOf(values, count));
    }

    /**
     * Writes the model; replaces an existing file. Memory holds one weight at a time.
     *
     * @param weights the weights, which must have the names and shapes of the spec
     * @param option  the command-line option that selects another directory, for error messages
     * @throws org.isobar.fault.UserException if a file cannot be written
     */
    public void write(Path path, StoredTensors weights, String option) {
        write(new OnnxFile(path, option, OnnxFile.LIMIT), weights);
    }

    void write(OnnxFile file, StoredTensors weights) {
        List<NamedTensor> tensors = graph.weights().stream()
            .map(name -> new NamedTensor(name, weights.shape(name), memory -> weights.read(name, memory))).toList();
        file.write(model.setGraph(graph.message()).build(), tensors);
    }
}
