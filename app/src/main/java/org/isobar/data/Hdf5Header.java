package org.isobar.data;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Encodes the metadata of an HDF5 file with one contiguous data set of little-endian float32 in its root group. jHDF
 * writes whole arrays only, but a year may not fit into memory: its metadata must be written first and its data in
 * parts. Uses the oldest structures of the format (superblock 0, symbol table, object header 1), which every reader
 * supports. Section numbers are those of the "HDF5 File Format Specification Version 3.0".
 */
public final class Hdf5Header {
    /** Byte offset of the data: page-aligned for mapping. All bytes before it are metadata. */
    public static final int DATA_ADDRESS = 4096;

    private static final long UNDEFINED = -1;
    private static final int ROOT_HEADER = 96;
    private static final int BTREE = 136;
    private static final int HEAP = 680;
    private static final int HEAP_DATA = 712;
    private static final int SYMBOLS = 744;
    private static final int DATASET_HEADER = 1072;
    private static final int NAME_OFFSET = 8; // in the heap, after the empty name
    private static final int HEAP_SIZE = 32;
    private static final int STRING_BYTES = 8;

    private final ByteBuffer file = ByteBuffer.allocate(DATA_ADDRESS).order(ByteOrder.LITTLE_ENDIAN);
    private int messages;

    private Hdf5Header() { }

    /** An attribute that is a list of short strings, at most eight ASCII characters each. */
    public record Attribute(String name, List<String> values) { }

    /** The metadata of a data set with the given name (fewer than 24 characters) and extents. */
    public static ByteBuffer of(String name, long[] extents, List<Attribute> attributes) {
        long bytes = Float.BYTES;
        for (long extent : extents) {
            bytes = Math.multiplyExact(bytes, extent);
        }
        Hdf5Header header = new Hdf5Header();
        header.superblock(DATA_ADDRESS + bytes);
        header.rootGroup(name);
        header.dataset(extents, bytes, attributes);
        return header.file.rewind();
    }

    /** Writes the superblock (II.A), version 0, with the symbol table entry of the root group (III.C). */
    private void superblock(long fileBytes) {
        file.put((byte) 0x89).put("HDF\r\n".getBytes(StandardCharsets.US_ASCII)).put((byte) 0x1A).put((byte) '\n');
        file.put(new byte[] {0, 0, 0, 0, 0, Long.BYTES, Long.BYTES, 0}); // versions; sizes of offsets and of lengths
        file.putShort((short) 4).putShort((short) 16).putInt(0); // half the symbols of a leaf, half the B-tree's keys
        file.putLong(0).putLong(UNDEFINED).putLong(fileBytes).putLong(UNDEFINED);
        file.putLong(0).putLong(ROOT_HEADER).putInt(1).putInt(0).putLong(BTREE).putLong(HEAP);
    }

    /** Writes a group of one name: header (IV.A.1.a), B-tree (III.A.1), local heap (III.D), symbol node (III.B). */
    private void rootGroup(String name) {
        openHeader(ROOT_HEADER);
        message(0x11, 16);
        file.putLong(BTREE).putLong(HEAP);
        closeHeader(ROOT_HEADER);
        file.position(BTREE).put(ascii("TREE")).put((byte) 0).put((byte) 0).putShort((short) 1);
        file.putLong(UNDEFINED).putLong(UNDEFINED).putLong(0).putLong(SYMBOLS).putLong(NAME_OFFSET);
        file.position(HEAP).put(ascii("HEAP")).putInt(0);
        file.putLong(HEAP_SIZE).putLong(1).putLong(HEAP_DATA); // 1: no free space
        file.position(HEAP_DATA + NAME_OFFSET).put(ascii(name));
        file.position(SYMBOLS).put(ascii("SNOD")).put((byte) 1).put((byte) 0).putShort((short) 1);
        file.putLong(NAME_OFFSET).putLong(DATASET_HEADER);
    }

    /** Writes the data set's header (IV.A): data space, data type, fill value, layout and attributes. */
    private void dataset(long[] extents, long bytes, List<Attribute> attributes) {
        openHeader(DATASET_HEADER);
        message(0x01, 8 + 8 * extents.length);
        dataspace(extents);
        message(0x03, 24);
        file.putInt(0x00_1F_20_11).putInt(Float.BYTES); // version 1, class 1: sign in bit 31, little endian
        file.putShort((short) 0).putShort((short) 32).put(new byte[] {23, 8, 0, 23}).putInt(127).putInt(0);
        message(0x05, 8);
        file.put(new byte[] {2, 2, 2, 1}).putInt(0); // version 2: allocated late, filled if set, default value
        message(0x08, 24);
        file.put((byte) 3).put((byte) 1).putLong(DATA_ADDRESS).putLong(bytes).put(new byte[6]); // contiguous
        attributes.forEach(this::attribute);
        closeHeader(DATASET_HEADER);
    }

    /** Writes an attribute message (IV.A.2.m), version 1. */
    private void attribute(Attribute attribute) {
        int nameBytes = attribute.name().length() + 1;
        int paddedName = (nameBytes + 7) / 8 * 8;
        int count = attribute.values().size();
        message(0x0C, 8 + paddedName + 8 + 16 + count * STRING_BYTES);
        file.putShort((short) 1).putShort((short) nameBytes).putShort((short) 8).putShort((short) 16);
        file.put(ascii(attribute.name())).put(new byte[paddedName - nameBytes + 1]);
        file.putInt(0x00_00_01_13).putInt(STRING_BYTES); // version 1, class 3: ASCII, padded with zeros
        dataspace(count);
        for (String value : attribute.values()) {
            file.put(ascii(value)).put(new byte[STRING_BYTES - value.length()]);
        }
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

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
