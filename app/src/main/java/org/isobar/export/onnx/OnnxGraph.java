package org.isobar.export.onnx;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.google.protobuf.ByteString;
import onnx.Onnx.AttributeProto;
import onnx.Onnx.GraphProto;
import onnx.Onnx.NodeProto;
import onnx.Onnx.TensorProto;
import onnx.Onnx.TypeProto;
import onnx.Onnx.ValueInfoProto;
import org.isobar.model.GraphBuilder;
import org.isobar.model.Operator;
import org.isobar.tensor.Shape;

/** Collects the nodes and constants of a graph as ONNX's messages, and the names of the weights that it reads. */
final class OnnxGraph implements GraphBuilder {
    private static final String BATCH = "batch";

    private final GraphProto.Builder graph = GraphProto.newBuilder();
    private final Set<String> weights = new LinkedHashSet<>();
    private final Set<String> names = new HashSet<>();

    OnnxGraph(String name) {
        graph.setName(name);
    }

    /** Adds an input of fields, whose first dimension is the batch. */
    String input(String name, Shape shape, String description) {
        graph.addInput(fields(declared(name), shape, description));
        return name;
    }

    /** Declares a value of the graph as an output of fields, whose first dimension is the batch. */
    void output(String name, Shape shape, String description) {
        graph.addOutput(fields(name, shape, description));
    }

    private static ValueInfoProto fields(String name, Shape shape, String description) {
        TypeProto.Tensor.Builder type = TypeProto.Tensor.newBuilder().setElemType(TensorProto.DataType.FLOAT_VALUE);
        type.getShapeBuilder().addDimBuilder().setDimParam(BATCH);
        for (int dim = 1; dim < shape.rank(); dim++) {
            type.getShapeBuilder().addDimBuilder().setDimValue(shape.extent(dim));
        }
        return ValueInfoProto.newBuilder().setName(name).setDocString(description)
            .setType(TypeProto.newBuilder().setTensorType(type)).build();
    }

    @Override
    public String weight(String name) {
        weights.add(declared(name));
        return name;
    }

    @Override
    public String integers(String name, long... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asLongBuffer().put(values);
        return constant(name, Shape.of(values.length), TensorProto.DataType.INT64, bytes);
    }

    @Override
    public String scalar(String name, double value) {
        return floats(name, Shape.of(), (float) value);
    }

    /** A constant tensor, F32. */
    String floats(String name, Shape shape, float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return constant(name, shape, TensorProto.DataType.FLOAT, bytes);
    }

    private String constant(String name, Shape shape, TensorProto.DataType type, ByteBuffer bytes) {
        graph.addInitializer(tensor(declared(name), shape).setDataType(type.getNumber())
            .setRawData(ByteString.copyFrom(bytes)));
        return name;
    }

    /** A tensor without type and elements. */
    static TensorProto.Builder tensor(String name, Shape shape) {
        TensorProto.Builder tensor = TensorProto.newBuilder().setName(name);
        for (long extent : shape.extents()) {
            tensor.addDims(extent);
        }
        return tensor;
    }

    @Override
    public String node(String name, Operator operator, String... inputs) {
        for (String input : inputs) {
            if (!names.contains(input)) {
                throw new IllegalArgumentException(name + " reads " + input + ", which is not in the graph");
            }
        }
        NodeProto.Builder node = graph.addNodeBuilder().setName(declared(name)).setOpType(operator.type())
            .addAllInput(List.of(inputs)).addOutput(name);
        for (Map.Entry<String, Long> attribute : operator.integers().entrySet()) {
            node.addAttribute(attribute(attribute.getKey(), AttributeProto.AttributeType.INT)
                .setI(attribute.getValue()));
        }
        for (Map.Entry<String, List<Long>> attribute : operator.lists().entrySet()) {
            node.addAttribute(attribute(attribute.getKey(), AttributeProto.AttributeType.INTS)
                .addAllInts(attribute.getValue()));
        }
        for (Map.Entry<String, Float> attribute : operator.reals().entrySet()) {
            node.addAttribute(attribute(attribute.getKey(), AttributeProto.AttributeType.FLOAT)
                .setF(attribute.getValue()));
        }
        return name;
    }

    private static AttributeProto.Builder attribute(String name, AttributeProto.AttributeType type) {
        return AttributeProto.newBuilder().setName(name).setType(type);
    }

    private String declared(String name) {
        if (!names.add(name)) {
            throw new IllegalArgumentException("two values of the graph have the name " + name);
        }
        return name;
    }

    /** Names of the weights, in the order in which the graph first reads them. */
    List<String> weights() {
        return List.copyOf(weights);
    }

    /** The graph without its weights. */
    GraphProto message() {
        return graph.build();
    }
}
