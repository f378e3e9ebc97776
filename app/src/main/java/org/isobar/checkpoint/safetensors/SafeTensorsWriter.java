package org.isobar.checkpoint.safetensors;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.os.AtomicFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/** Writes safetensors files of binary32 tensors, to a channel or atomically to a path (see {@link AtomicFile}). */
public final class SafeTensorsWriter {
    private static final int ALIGNMENT = 8;
    private static final int BUFFER_BYTES = 1 << 20;
    private static final ValueLayout.OfFloat LITTLE_ENDIAN_FLOAT =
        ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** A tensor to write. Its values are copied when it is written, so that memory holds one tensor at a time. */
    public record NamedTensor(String name, Shape shape, Values values) {
        /** Bytes of its elements as binary32. */
        public long bytes() {
            return shape.elements() * DType.F32.bytes();
        }
    }

    /** Supplies the elements of a tensor. */
    public interface Values {
        /** Copies all elements as row-major floats to memory of exactly that size. */
        void copyTo(MemorySegment destination);
    }

    private SafeTensorsWriter() { }

    /**
     * Writes a file of the given tensors, in the given order; replaces an existing file.
     *
     * @param metadata entries of {@code __metadata__}, for example {@code "format": "pt"}; may be empty
     * @throws org.isobar.fault.UserException if the file cannot be written; an existing file is then unchanged
     */
    public static void write(Path path, List<NamedTensor> tensors, Map<String, String> metadata) {
        byte[] header = header(tensors, metadata);
        new AtomicFile("weights", path, "--expdir").write(file -> writeAll(file, header, tensors));
    }

    /** Writes the bytes of such a file to a channel. */
    public static void write(WritableByteChannel channel, List<NamedTensor> tensors, Map<String, String> metadata)
            throws IOException {
        writeAll(channel, header(tensors, metadata), tensors);
    }

    /** The header length and the JSON header, padded with spaces so that the data is aligned. */
    private static byte[] header(List<NamedTensor> tensors, Map<String, String> metadata) {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        if (!metadata.isEmpty()) {
            metadata.forEach(root.putObject(SafeTensorsHeader.METADATA)::put);
        }
        long offset = 0;
        for (NamedTensor tensor : tensors) {
            if (root.has(tensor.name()) || tensor.name().equals(SafeTensorsHeader.METADATA)) {
                throw new IllegalArgumentException("duplicate or reserved name " + tensor.name());
            }
            ObjectNode entry = root.putObject(tensor.name()).put(SafeTensorsHeader.TYPE, SafeTensorsType.F32.name());
            Arrays.stream(tensor.shape().extents()).forEach(entry.putArray(SafeTensorsHeader.SHAPE)::add);
            entry.putArray(SafeTensorsHeader.OFFSETS).add(offset).add(offset += tensor.bytes());
        }
        byte[] json = root.toString().getBytes(StandardCharsets.UTF_8);
        int padding = Math.floorMod(-json.length, ALIGNMENT);
        ByteBuffer header = ByteBuffer.allocate(Long.BYTES + json.length + padding).order(ByteOrder.LITTLE_ENDIAN);
        header.putLong(json.length + padding).put(json).put(" ".repeat(padding).getBytes(StandardCharsets.UTF_8));
        return header.array();
    }

    private static void writeAll(WritableByteChannel file, byte[] header, List<NamedTensor> tensors)
            throws IOException {
        AtomicFile.writeFully(file, ByteBuffer.wrap(header));
        writeElements(file, tensors);
    }

    /**
     * Writes the elements of tensors to a channel, one tensor after the other, as little-endian binary32 in row-major
     * order.
     */
    public static void writeElements(WritableByteChannel file, List<NamedTensor> tensors) throws IOException {
        long largest = tensors.stream().mapToLong(NamedTensor::bytes).max().orElse(0);
        // Shared, because a device may copy on its threads, and by all tensors: to close it stops every thread briefly.
        try (Arena confined = Arena.ofConfined(); Arena shared = Arena.ofShared()) {
            MemorySegment staging = confined.allocate(Math.min(BUFFER_BYTES, largest), Float.BYTES);
            MemorySegment values = shared.allocate(largest, Float.BYTES);
            for (NamedTensor tensor : tensors) {
                MemorySegment own = values.asSlice(0, tensor.bytes());
                tensor.values().copyTo(own);
                writeValues(file, own, staging);
            }
        }
    }

    private static void writeValues(WritableByteChannel file, MemorySegment values, MemorySegment staging)
            throws IOException {
        ByteBuffer buffer = staging.asByteBuffer();
        for (long done = 0; done < values.byteSize(); done += BUFFER_BYTES) {
            int part = (int) Math.min(BUFFER_BYTES, values.byteSize() - done);
            MemorySegment.copy(values, ValueLayout.JAVA_FLOAT_UNALIGNED, done,
                staging, LITTLE_ENDIAN_FLOAT, 0, part / DType.F32.bytes());
            AtomicFile.writeFully(file, buffer.clear().limit(part));
        }
    }
}
