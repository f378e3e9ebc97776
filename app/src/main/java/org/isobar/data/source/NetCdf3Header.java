package org.isobar.data.source;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.isobar.fault.UserException;

/** Parses the header of a NetCDF file in one of the classic formats. */
final class NetCdf3Header {
    private static final int MOST_BYTES = 16 << 20;
    private static final int CHAR = 2;
    private static final int DIMENSIONS = 0x0A;
    private static final int VARIABLES = 0x0B;
    private static final int ATTRIBUTES = 0x0C;
    private static final int BIGGER_SIZES = 5; // version in which sizes have 64 bits
    /** Types by code; null for text and for codes that do not exist. */
    private static final NumberType[] TYPES = {null, NumberType.I8, null, NumberType.I16, NumberType.I32,
        NumberType.F32, NumberType.F64, NumberType.U8, NumberType.U16, NumberType.U32, NumberType.I64, NumberType.U64};

    private final String title;
    private final long fileBytes;
    private final ByteBuffer bytes;
    private final int version;
    private final List<String> dimNames = new ArrayList<>();
    private final List<Long> dimLengths = new ArrayList<>(); // 0 for the record dimension
    private final List<Variable> variables = new ArrayList<>();

    private NetCdf3Header(String title, long fileBytes, ByteBuffer bytes) {
        this.title = title;
        this.fileBytes = fileBytes;
        this.bytes = bytes;
        version = bytes.get(3);
    }

    /**
     * A variable of numbers.
     *
     * @param begin       byte offset of its first element
     * @param recordBytes bytes from one record to the next; 0 if it has no record dimension
     */
    record Variable(String name, List<String> dims, int[] shape, NumberType type, ArrayAttributes attributes,
                    long begin, long recordBytes) {
        boolean hasRecords() {
            return recordBytes > 0;
        }

        /** Byte offset of an element, by its number in row-major order. */
        long address(long element) {
            if (!hasRecords()) {
                return begin + element * type.bytes();
            }
            long perRecord = StoredArray.elements(Arrays.copyOfRange(shape, 1, shape.length));
            return begin + element / perRecord * recordBytes + element % perRecord * type.bytes();
        }
    }

    /**
     * Reads a header, and checks that the file is as long as the header says.
     *
     * @throws UserException if it is not the header of such a file, is damaged, or the file is too short
     */
    static NetCdf3Header read(String title, FileChannel file) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(file.size(), MOST_BYTES));
        while (bytes.hasRemaining() && file.read(bytes, bytes.position()) >= 0) { // until the file's end
            continue;
        }
        NetCdf3Header header = new NetCdf3Header(title, file.size(), bytes.flip());
        try {
            header.parse();
            return header;
        } catch (BufferUnderflowException cut) {
            throw new UserException(title + " is cut off in its header. Copy or download it again.", cut);
        } catch (ArithmeticException | IndexOutOfBoundsException impossible) {
            throw header.damaged("it has sizes or numbers that no file has");
        }
    }

    /** The variables of numbers. */
    List<Variable> variables() {
        return variables;
    }

    private void parse() {
        bytes.position(4);
        long records = size();
        for (long left = list(DIMENSIONS); left > 0; left--) {
            dimNames.add(name());
            dimLengths.add(size());
        }
        attributes();
        List<Entry> entries = new ArrayList<>();
        for (long left = list(VARIABLES); left > 0; left--) {
            entries.add(entry());
        }
        List<Entry> recorded = entries.stream().filter(Entry::hasRecords).toList();
        long recordBytes = recorded.size() == 1 ? recorded.getFirst().unpadded()
            : recorded.stream().mapToLong(Entry::padded).reduce(0, Math::addExact);
        if (records == (version == BIGGER_SIZES ? -1 : 0xFFFFFFFFL)) { // unknown while it was streamed
            long begin = recorded.stream().mapToLong(Entry::begin).min().orElse(fileBytes);
            records = recordBytes == 0 ? 0 : (fileBytes - begin) / recordBytes;
        }
        for (Entry entry : entries) {
            add(entry, records, recordBytes);
        }
    }

    private void add(Entry entry, long records, long recordBytes) {
        int[] shape = entry.shape.clone();
        if (entry.hasRecords()) {
            shape[0] = Math.toIntExact(records);
        }
        if (TYPES[entry.code] != null) {
            Variable variable = new Variable(entry.name, entry.dims, shape, TYPES[entry.code], entry.attributes,
                entry.begin, entry.hasRecords() ? recordBytes : 0);
            long elements = StoredArray.elements(shape);
            long end = elements == 0 ? entry.begin : Math.addExact(variable.address(elements - 1),
                variable.type.bytes());
            if (entry.begin < 0 || end > fileBytes) {
                throw new UserException(title + " is cut off: '" + entry.name + "' ends at byte " + end
                    + ", the file has " + fileBytes + ". Copy or download it again.");
            }
            variables.add(variable);
        }
    }

    /** A variable as the header has it; the extent of the record dimension is 0. */
    private record Entry(String name, List<String> dims, int[] shape, int code, ArrayAttributes attributes,
                         long begin) {
        boolean hasRecords() {
            return shape.length > 0 && shape[0] == 0;
        }

        /** Bytes of a record. */
        long unpadded() {
            int bytes = code == CHAR ? 1 : TYPES[code].bytes();
            return Math.multiplyExact(StoredArray.elements(Arrays.copyOfRange(shape, 1, shape.length)), bytes);
        }

        long padded() {
            return (unpadded() + 3) / 4 * 4;
        }
    }

    private Entry entry() {
        String name = name();
        int[] ids = new int[Math.toIntExact(checked(size()))];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = Math.toIntExact(size());
        }
        ArrayAttributes attributes = attributes();
        int code = code();
        size(); // of the data: redundant, and wrong where it has too few bits
        long begin = version == 1 ? bytes.getInt() & 0xFFFFFFFFL : bytes.getLong();
        return new Entry(name, Arrays.stream(ids).mapToObj(dimNames::get).toList(),
            Arrays.stream(ids).map(id -> Math.toIntExact(dimLengths.get(id))).toArray(), code, attributes, begin);
    }

    private ArrayAttributes attributes() {
        Map<String, Object> values = new HashMap<>();
        for (long left = list(ATTRIBUTES); left > 0; left--) {
            String name = name();
            int code = code();
            int count = Math.toIntExact(checked(size()));
            if (code == CHAR) {
                values.put(name, text(count));
            } else {
                values.put(name, numbers(TYPES[code], count));
            }
        }
        return new ArrayAttributes(values);
    }

    private double[] numbers(NumberType type, int count) {
        double[] numbers = new double[count];
        byte[] raw = raw(Math.multiplyExact(count, type.bytes()));
        MemorySegment elements = MemorySegment.ofArray(raw);
        type.toNative(elements, count, ByteOrder.BIG_ENDIAN);
        type.widen(elements, 0, count, numbers);
        return numbers;
    }

    private int code() {
        int code = bytes.getInt();
        if (code != CHAR && (code < 1 || code >= TYPES.length || TYPES[code] == null)) {
            throw damaged("it has a variable or an attribute of the type " + code);
        }
        return code;
    }

    /** Reads the tag of a list and its length. */
    private long list(int tag) {
        int found = bytes.getInt();
        long length = size();
        if (found != tag && (found != 0 || length != 0)) {
            throw damaged("it has a list of the kind " + found + " where one of the kind " + tag + " is expected");
        }
        return checked(length);
    }

    /** A number of things of which each takes a byte or more; so a damaged number does not take memory. */
    private long checked(long count) {
        if (count < 0 || count > bytes.limit()) {
            throw new BufferUnderflowException();
        }
        return count;
    }

    private long size() {
        return version == BIGGER_SIZES ? bytes.getLong() : bytes.getInt() & 0xFFFFFFFFL;
    }

    private String name() {
        return text(Math.toIntExact(checked(size())));
    }

    private String text(int length) {
        return new String(raw(length), StandardCharsets.UTF_8).replaceFirst("\0+$", "");
    }

    /** Reads bytes and skips those that fill the last word. */
    private byte[] raw(int length) {
        checked(length);
        byte[] raw = new byte[length];
        bytes.get(raw);
        int padding = (4 - length % 4) % 4;
        if (bytes.remaining() < padding) {
            throw new BufferUnderflowException();
        }
        bytes.position(bytes.position() + padding);
        return raw;
    }

    private UserException damaged(String finding) {
        return new UserException(title + " is damaged: " + finding + ". Copy or download it again.");
    }
}
