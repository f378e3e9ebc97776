package org.isobar.checkpoint.safetensors;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * A safetensors file, open for reading: 8 bytes of header length (little-endian), a JSON header, the data. The file is
 * memory-mapped, so opening it reads only the header. Tensors are copied one at a time. Source: the description of the
 * format at github.com/huggingface/safetensors.
 */
public final class SafeTensorsFile implements StoredTensors {
    /** Layout of the header length at the start of a file. */
    public static final ValueLayout.OfLong LENGTH =
        ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** Maximum header length: that of the reference implementation. */
    public static final int MAX_HEADER_BYTES = 100_000_000;

    private final Path path;
    private final Arena arena;
    private final SafeTensorsHeader header;
    private final MemorySegment data;

    private SafeTensorsFile(Path path, Arena arena, SafeTensorsHeader header, MemorySegment data) {
        this.path = path;
        this.arena = arena;
        this.header = header;
        this.data = data;
    }

    /**
     * Opens a file and checks its header.
     *
     * @throws UserException if the file cannot be read, is not a regular file or is not a complete safetensors file
     */
    public static SafeTensorsFile open(Path path) {
        Arena arena = Arena.ofShared();
        try (FileChannel channel = RegularFile.open(path)) {
            return parse(path, arena, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena));
        } catch (IOException e) {
            arena.close();
            throw FileFault.unreadable("weights " + path, e);
        } catch (SafeTensorsHeader.MalformedException e) {
            arena.close();
            throw new UserException(path + " is not a complete safetensors file: " + e.getMessage()
                + "; copy or write it again", e);
        }
    }

    /** Names of the tensors, in the order of the header. */
    @Override
    public List<String> names() {
        return List.copyOf(header.entries().keySet());
    }

    /** The entries of {@code __metadata__}. */
    public Map<String, String> metadata() {
        return Map.copyOf(header.metadata());
    }

    /**
     * Shape of a tensor.
     *
     * @throws UserException if the file has no such tensor
     */
    @Override
    public Shape shape(String name) {
        return entry(name).shape();
    }

    /**
     * Copies a tensor into {@code destination} as binary32; F64, F16 and BF16 are converted.
     *
     * @param destination receives all elements as floats
     * @throws UserException if the file has no such tensor, or its elements are not floating-point numbers
     */
    @Override
    public void read(String name, MemorySegment destination) {
        SafeTensorsHeader.Entry entry = entry(name);
        if (!entry.type().isReadable()) {
            throw new UserException("tensor " + name + " of " + path + " is stored as " + entry.type()
                + "; store it as F32, F64, F16 or BF16");
        }
        if (destination.byteSize() != entry.shape().elements() * DType.F32.bytes()) {
            throw new IllegalArgumentException(name + " " + entry.shape() + " into " + destination.byteSize()
                + " bytes");
        }
        entry.type().toFloats(data.asSlice(entry.begin(), entry.end() - entry.begin()), destination);
    }

    /** Unmaps the file. */
    @Override
    public void close() {
        arena.close();
    }

    private SafeTensorsHeader.Entry entry(String name) {
        SafeTensorsHeader.Entry entry = header.entries().get(name);
        if (entry == null) {
            throw new UserException("no tensor " + name + " in " + path + "; give weights of the configured model");
        }
        return entry;
    }

    private static SafeTensorsFile parse(Path path, Arena arena, MemorySegment file)
            throws SafeTensorsHeader.MalformedException {
        if (file.byteSize() < Long.BYTES) {
            throw new SafeTensorsHeader.MalformedException("it has " + file.byteSize() + " bytes");
        }
        long length = file.get(LENGTH, 0);
        if (length < 0 || length > MAX_HEADER_BYTES) {
            throw new SafeTensorsHeader.MalformedException("its header claims "
                + Long.toUnsignedString(length) + " bytes");
        }
        if (length > file.byteSize() - Long.BYTES) {
            throw new SafeTensorsHeader.MalformedException("it is truncated: its header claims " + length
                + " bytes, and only " + (file.byteSize() - Long.BYTES) + " follow");
        }
        byte[] json = file.asSlice(Long.BYTES, length).toArray(ValueLayout.JAVA_BYTE);
        MemorySegment data = file.asSlice(Long.BYTES + length);
        return new SafeTensorsFile(path, arena, SafeTensorsHeader.parse(json, data.byteSize()), data);
    }
}
