package org.isobar.data;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Encodes everything of an HDF5 file that precedes the elements of one large contiguous data set of little-endian
 * float32: the metadata, and small data sets beside it. jHDF writes whole arrays only, but a year may not fit into
 * memory: its metadata must be written first and its data in parts. Uses the oldest structures of the format
 * (superblock 0, symbol table, object header 1), which every reader supports. Section numbers are those of the "HDF5
 * File Format Specification Version 3.0".
 */
public final class Hdf5Header {
    /** Byte offset of the data of a file without companions. Data begins at a multiple of it, for mapping. */
    public static final int DATA_ADDRESS = 4096;

    /** Most chunks of a data set: twice the half rank of an index that superblock 0 implies. */
    public static final int MOST_CHUNKS = 64;

    private static final long UNDEFINED = -1;
    private static final int ROOT_HEADER = 96;
    private static final int BTREE = 136;
    private static final int HEAP = 680;
    private static final int HEAP_DATA = 712;
    private static final int FIRST_NAME = 8; // in the heap, after the empty name
    private static final int SMALLEST_HEAP = 32;
    private static final int MOST_NAMES = 8; // of a leaf of the symbol table
    private static final int SYMBOL_BYTES = 40;
    private static final int STRING_BYTES = 8;
    private static final int ASCII_TEXT = 0x00_00_01_13; // version 1, class 3: padded with zeros
    private static final int UTF8_TEXT = 0x00_00_11_13;

    private final ByteBuffer file;
    private int messages;
    private int steps; // entries of the first dimension in a chunk; 0 if the large data set is contiguous

    private Hdf5Header(int bytes) {
        file = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** An attribute that is a list of short strings, at most eight ASCII characters each. */
    public record Attribute(String name, List<String> values) { }

    /**
     * A one-dimensional data set beside the large one.
     *
     * @param name   its name, ASCII
     * @param values a {@code String[]}, {@code double[]} or {@code long[]}, not empty
     * @param unit   its attribute {@code units}, ASCII; empty if it has none
     */
    public record Companion(String name, Object values, String unit) {
        private ByteBuffer bytes() {
            ByteBuffer bytes = ByteBuffer.allocate(count() * elementBytes()).order(ByteOrder.LITTLE_ENDIAN);
            switch (values) {
                case double[] numbers -> bytes.asDoubleBuffer().put(numbers);
                case long[] numbers -> bytes.asLongBuffer().put(numbers);
                default -> Arrays.stream((String[]) values).map(Hdf5Header::utf8)
                    .forEach(text -> bytes.put(text).put(new byte[elementBytes() - text.length]));
            }
            return bytes.rewind();
        }

        private int count() {
            return Array.getLength(values);
        }

        private int elementBytes() {
            return values instanceof String[] texts
                ? padded(Arrays.stream(texts).mapToInt(text -> utf8(text).length).max().orElse(1) + 1) : Long.BYTES;
        }
    }

    /** The metadata of a data set with the given name and extents: {@link #DATA_ADDRESS} bytes. */
    public static ByteBuffer of(String name, long[] extents, List<Attribute> attributes) {
        return of(name, extents, attributes, List.of());
    }

    /**
     * The metadata of a data set in chunks of {@code steps} entries of its first dimension; contiguous if that is 0.
     * The index of the chunks, {@link #chunkIndexBytes}, follows the data.
     */
    public static ByteBuffer of(String name, long[] extents, List<Attribute> attributes, int steps) {
        Hdf5Header header = new Hdf5Header(DATA_ADDRESS);
        header.steps = steps;
        header.write(name, extents, attributes, List.of());
        return header.file.rewind();
    }

    /**
     * The metadata of a data set, and small data sets beside it.
     *
     * @param name       name of the large data set, ASCII
     * @param companions the others; at most seven
     * @return the bytes before the first element of the large data set, a multiple of {@link #DATA_ADDRESS}
     */
    public static ByteBuffer of(String name, long[] extents, List<Attribute> attributes, List<Companion> companions) {
        assert companions.size() < MOST_NAMES : "a leaf of the symbol table has at most " + MOST_NAMES + " names";
        Hdf5Header header = new Hdf5Header(companions.isEmpty() ? DATA_ADDRESS
            : (upperBound(extents, attributes, companions) / DATA_ADDRESS + 1) * DATA_ADDRESS);
        header.write(name, extents, attributes, companions);
        return header.file.rewind();
    }

    /** Bytes of the index of the chunks of a data set: a node of a B-tree (III.A.1), as long as if it were full. */
    public static int chunkIndexBytes(int dimensions) {
        int key = 2 * Integer.BYTES + (dimensions + 1) * Long.BYTES;
        return 24 + MOST_CHUNKS * (key + Long.BYTES) + key;
    }

    private static int upperBound(long[] extents, List<Attribute> attributes, List<Companion> companions) {
        int bytes = HEAP_DATA + MOST_NAMES * (SYMBOL_BYTES + 256) + extents.length * Long.BYTES;
        bytes += attributes.stream().mapToInt(attribute -> 64 + attribute.name().length()
            + STRING_BYTES * attribute.values().size()).sum();
        return bytes + companions.stream().mapToInt(companion -> padded(companion.count() * companion.elementBytes())
            + 2 * companion.name().length() + companion.unit().length() + 64).sum();
    }

    private void write(String name, long[] extents, List<Attribute> attributes, List<Companion> companions) {
        List<String> names = new ArrayList<>(companions.stream().map(Companion::name).toList());
        names.add(name);
        names.sort(Comparator.naturalOrder()); // as readers search them
        int[] nameOffsets = heap(names);
        int symbols = HEAP_DATA + heapBytes(names);
        int at = symbols + 8 + MOST_NAMES * SYMBOL_BYTES;
        int[] headers = new int[names.size()];
        for (Companion companion : companions) {
            ByteBuffer data = companion.bytes();
            headers[names.indexOf(companion.name())] = at;
            int end = companion(at, companion, 0);
            companion(at, companion, end); // again, since its data follow its header
            file.put(end, data, 0, data.capacity());
            at = end + padded(data.capacity());
        }
        headers[names.indexOf(name)] = at;
        long bytes = Float.BYTES;
        for (long extent : extents) {
            bytes = Math.multiplyExact(bytes, extent);
        }
        dataset(at, extents, bytes, attributes);
        symbols(symbols, nameOffsets, headers);
        rootGroup(symbols, nameOffsets[names.size() - 1]);
        superblock(file.capacity() + bytes + (steps == 0 ? 0 : chunkIndexBytes(extents.length)));
    }

    /** Writes the superblock (II.A), version 0, with the symbol table entry of the root group (III.C). */
    private void superblock(long fileBytes) {
        file.position(0);
        file.put((byte) 0x89).put("HDF\r\n".getBytes(StandardCharsets.US_ASCII)).put((byte) 0x1A).put((byte) '\n');
        file.put(new byte[] {0, 0, 0, 0, 0, Long.BYTES, Long.BYTES, 0}); // versions; sizes of offsets and of lengths
        file.putShort((short) 4).putShort((short) 16).putInt(0); // half the symbols of a leaf, half the B-tree's keys
        file.putLong(0).putLong(UNDEFINED).putLong(fileBytes).putLong(UNDEFINED);
        file.putLong(0).putLong(ROOT_HEADER).putInt(1).putInt(0).putLong(BTREE).putLong(HEAP);
    }

    /** Writes the local heap of the names (III.D); returns the offset of each in it. */
    private int[] heap(List<String> names) {
        file.position(HEAP).put(ascii("HEAP")).putInt(0);
        file.putLong(heapBytes(names)).putLong(1).putLong(HEAP_DATA); // 1: no free space
        int[] offsets = new int[names.size()];
        int offset = FIRST_NAME;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = offset;
            file.put(HEAP_DATA + offset, ascii(names.get(i)));
            offset += padded(names.get(i).length() + 1);
        }
        return offsets;
    }

    private static int heapBytes(List<String> names) {
        return Math.max(SMALLEST_HEAP,
            FIRST_NAME + names.stream().mapToInt(name -> padded(name.length() + 1)).sum());
    }

    /** Writes the group of all names: header (IV.A.1.a) and B-tree (III.A.1). */
    private void rootGroup(int symbols, int lastName) {
        openHeader(ROOT_HEADER);
        message(0x11, 16);
        file.putLong(BTREE).putLong(HEAP);
        closeHeader(ROOT_HEADER);
        file.position(BTREE).put(ascii("TREE")).put((byte) 0).put((byte) 0).putShort((short) 1);
        file.putLong(UNDEFINED).putLong(UNDEFINED).putLong(0).putLong(symbols).putLong(lastName);
    }

    /** Writes the symbol node (III.B): where each name and each data set is. */
    private void symbols(int address, int[] nameOffsets, int[] headers) {
        file.position(address).put(ascii("SNOD")).put((byte) 1).put((byte) 0).putShort((short) headers.length);
        for (int i = 0; i < headers.length; i++) {
            file.putLong(nameOffsets[i]).putLong(headers[i]).put(new byte[SYMBOL_BYTES - 2 * Long.BYTES]);
        }
    }

    /** Writes the large data set's header (IV.A): data space, data type, fill value, layout and attributes. */
    private void dataset(int address, long[] extents, long bytes, List<Attribute> attributes) {
        openHeader(address);
        message(0x01, 8 + 8 * extents.length);
        dataspace(extents);
        message(0x03, 24);
        file.putInt(0x00_1F_20_11).putInt(Float.BYTES); // version 1, class 1: sign in bit 31, little endian
        file.putShort((short) 0).putShort((short) 32).put(new byte[] {23, 8, 0, 23}).putInt(127).putInt(0);
        if (steps == 0) {
            placement(file.capacity(), bytes);
        } else {
            chunks(extents, file.capacity() + bytes);
        }
        attributes.forEach(this::attribute);
        closeHeader(address);
    }

    /** Writes the header of a small data set; returns where it ends. */
    private int companion(int address, Companion companion, long dataAddress) {
        openHeader(address);
        message(0x01, 16);
        dataspace(companion.count());
        switch (companion.values()) {
            case double[] _ -> {
                message(0x03, 24);
                file.putInt(0x00_3F_20_11).putInt(Double.BYTES); // sign in bit 63
                file.putShort((short) 0).putShort((short) 64).put(new byte[] {52, 11, 0, 52}).putInt(1023).putInt(0);
            }
            case long[] _ -> {
                message(0x03, 16);
                file.putInt(0x00_00_08_10).putInt(Long.BYTES); // version 1, class 0: signed, little endian
                file.putShort((short) 0).putShort((short) 64).putInt(0);
            }
            default -> {
                message(0x03, 8);
                file.putInt(UTF8_TEXT).putInt(companion.elementBytes());
            }
        }
        placement(dataAddress, (long) companion.count() * companion.elementBytes());
        if (!companion.unit().isEmpty()) {
            unit(companion.unit());
        }
        closeHeader(address);
        return file.position();
    }

    /** Writes how the fill value is used, and where a contiguous data set's elements are. */
    private void placement(long address, long bytes) {
        message(0x05, 8);
        file.put(new byte[] {2, 2, 2, 1}).putInt(0); // version 2: allocated late, filled if set, default value
        message(0x08, 24);
        file.put((byte) 3).put((byte) 1).putLong(address).putLong(bytes).put(new byte[6]); // contiguous
    }

    /** Writes how the fill value is used, the extents of a chunk, and where the chunks' index is. */
    private void chunks(long[] extents, long index) {
        message(0x05, 8);
        file.put(new byte[] {2, 3, 2, 1}).putInt(0); // version 2: allocated chunk by chunk
        int bytes = 3 + Long.BYTES + Integer.BYTES * (extents.length + 1);
        message(0x08, padded(bytes));
        file.put((byte) 3).put((byte) 2).put((byte) (extents.length + 1)).putLong(index).putInt(steps);
        for (int dim = 1; dim < extents.length; dim++) {
            file.putInt(Math.toIntExact(extents[dim]));
        }
        file.putInt(Float.BYTES).put(new byte[padded(bytes) - bytes]);
    }

    /** Writes an attribute message (IV.A.2.m), version 1. */
    private void attribute(Attribute attribute) {
        int count = attribute.values().size();
        openAttribute(attribute.name(), 16, ASCII_TEXT, STRING_BYTES, count * STRING_BYTES);
        dataspace(count);
        for (String value : attribute.values()) {
            file.put(ascii(value)).put(new byte[STRING_BYTES - value.length()]);
        }
    }

    /** Writes attribute {@code units}, a single text. */
    private void unit(String unit) {
        int bytes = padded(unit.length() + 1);
        openAttribute("units", 8, ASCII_TEXT, bytes, bytes);
        dataspace();
        file.put(ascii(unit)).put(new byte[bytes - unit.length()]);
    }

    private void openAttribute(String name, int spaceBytes, int type, int elementBytes, int dataBytes) {
        int nameBytes = name.length() + 1;
        message(0x0C, 8 + padded(nameBytes) + 8 + spaceBytes + dataBytes);
        file.putShort((short) 1).putShort((short) nameBytes).putShort((short) 8).putShort((short) spaceBytes);
        file.put(ascii(name)).put(new byte[padded(nameBytes) - nameBytes + 1]);
        file.putInt(type).putInt(elementBytes);
    }

    /** Writes a data space (IV.A.2.b), version 1. */
    private void dataspace(long... extents) {
        file.put((byte) 1).put((byte) extents.length).putShort((short) 0).putInt(0);
        for (long extent : extents) {
            file.putLong(extent);
        }
    }

    private void openHeader(int address) {
        messages = 0;
        file.position(address + 16);
    }

    /** Writes the prefix of an object header (IV.A.1.a) after its messages were counted. */
    private void closeHeader(int address) {
        int end = file.position();
        file.putShort(address, (short) 1).putShort(address + 2, (short) messages);
        file.putInt(address + 4, 1).putInt(address + 8, end - address - 16);
    }

    private void message(int type, int bytes) {
        assert bytes % 8 == 0 : "messages of version 1 are padded";
        messages++;
        file.putShort((short) type).putShort((short) bytes).putInt(0);
    }

    private static int padded(int bytes) {
        return (bytes + 7) / 8 * 8;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
