package org.isobar.export.onnx;

import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import onnx.Onnx.GraphProto;
import onnx.Onnx.ModelProto;
import onnx.Onnx.StringStringEntryProto;
import onnx.Onnx.TensorProto;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter.NamedTensor;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * Writes an ONNX file. Weights are written one at a time, so memory holds the largest, not all. Protobuf limits a
 * message to 2 GB; the weights of a larger model are in a second file beside the first, as ONNX's external data.
 */
final class OnnxFile {
    /** The largest message of protobuf in bytes. */
    static final long LIMIT = Integer.MAX_VALUE;

    private final Path path;
    private final String option;
    private final long limit;

    /**
     * A file to write.
     *
     * @param option the command-line option that selects another directory, for error messages
     * @param limit  bytes of the largest file that holds the weights itself; {@link #LIMIT} except in tests
     */
    OnnxFile(Path path, String option, long limit) {
        this.path = path;
        this.option = option;
        this.limit = limit;
    }

    /**
     * Writes a model; replaces an existing one.
     *
     * @param model   the model without its weights
     * @param weights its weights
     * @throws org.isobar.fault.UserException if a file cannot be written
     */
    void write(ModelProto model, List<NamedTensor> weights) {
        Path data = path.resolveSibling(path.getFileName() + ".data");
        List<Entry> entries = new ArrayList<>();
        weights.forEach(weight -> entries.add(Entry.inside(weight)));
        if (model.getSerializedSize() + entries.stream().mapToLong(Entry::bytes).sum() <= limit) {
            new AtomicFile("model", path, option).write(file -> write(file, model, entries));
            delete(data);
            return;
        }
        delete(path); // it would read the new data in the old order
        new AtomicFile("weights", data, option).write(file -> SafeTensorsWriter.writeElements(file, weights));
        entries.clear();
        long offset = 0;
        for (NamedTensor weight : weights) {
            entries.add(Entry.outside(weight, data.getFileName().toString(), offset));
            offset += weight.bytes();
        }
        new AtomicFile("model", path, option).write(file -> write(file, model, entries));
    }

    private void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException failure) {
            throw FileFault.unwritable("model " + file, option, failure);
        }
    }

    /** Writes the message piece by piece: the graph, its last field, ends with the weights. */
    private static void write(FileChannel file, ModelProto model, List<Entry> entries) throws IOException {
        GraphProto graph = model.getGraph();
        CodedOutputStream out = CodedOutputStream.newInstance(Channels.newOutputStream(file));
        model.toBuilder().clearGraph().build().writeTo(out);
        out.writeTag(ModelProto.GRAPH_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED);
        out.writeUInt64NoTag(graph.getSerializedSize() + entries.stream().mapToLong(Entry::bytes).sum());
        graph.writeTo(out);
        for (Entry entry : entries) {
            entry.writeTo(out, file);
        }
        out.flush();
    }

    /**
     * A weight as an element of the graph.
     *
     * @param tensor   its message without the elements
     * @param elements the elements that follow in the message; null if they are in another file
     */
    private record Entry(TensorProto tensor, NamedTensor elements) {
        static Entry inside(NamedTensor weight) {
            return new Entry(message(weight).build(), weight);
        }

        static Entry outside(NamedTensor weight, String file, long offset) {
            return new Entry(message(weight).setDataLocation(TensorProto.DataLocation.EXTERNAL)
                .addExternalData(entry("location", file)).addExternalData(entry("offset", String.valueOf(offset)))
                .addExternalData(entry("length", String.valueOf(weight.bytes()))).build(), null);
        }

        private static TensorProto.Builder message(NamedTensor weight) {
            return OnnxGraph.tensor(weight.name(), weight.shape()).setDataType(TensorProto.DataType.FLOAT_VALUE);
        }

        /** Bytes of the element with its tag. */
        long bytes() {
            return CodedOutputStream.computeTagSize(GraphProto.INITIALIZER_FIELD_NUMBER)
                + CodedOutputStream.computeUInt64SizeNoTag(messageBytes()) + messageBytes();
        }

        private long messageBytes() {
            return tensor.getSerializedSize() + (elements == null ? 0
                : CodedOutputStream.computeTagSize(TensorProto.RAW_DATA_FIELD_NUMBER)
                    + CodedOutputStream.computeUInt64SizeNoTag(elements.bytes()) + elements.bytes());
        }

        void writeTo(CodedOutputStream out, FileChannel file) throws IOException {
            out.writeTag(GraphProto.INITIALIZER_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.writeUInt64NoTag(messageBytes());
            tensor.writeTo(out);
            if (elements != null) {
                out.writeTag(TensorProto.RAW_DATA_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED);
                out.writeUInt64NoTag(elements.bytes());
                out.flush();
                SafeTensorsWriter.writeElements(file, List.of(elements));
            }
        }
    }

    /** An entry of a map of texts. */
    static StringStringEntryProto entry(String key, String value) {
        return StringStringEntryProto.newBuilder().setKey(key).setValue(value).build();
    }
}
