package org.isobar.data;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.isobar.fault.PlainText;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * Reads and writes NumPy array files of floating-point numbers in C order. Format: NEP 1 and {@code numpy.lib.format},
 * versions 1 to 3.
 *
 * @param dtype  element type in the file, F32 or F64
 * @param shape  shape of the array
 * @param values the elements, widened to double precision
 */
public record NpyFile(DType dtype, Shape shape, double[] values) {
    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    private static final int MAX_BYTES = 1 << 30;
    private static final int HEADER_ALIGNMENT = 64;
    private static final Pattern DESCR = Pattern.compile("'descr'\\s*:\\s*'([^']*)'");
    private static final Pattern FORTRAN = Pattern.compile("'fortran_order'\\s*:\\s*(True|False)");
    private static final Pattern SHAPE = Pattern.compile("'shape'\\s*:\\s*\\(([^)]*)\\)");

    /** Checks the type and the number of values. */
    public NpyFile {
        assert dtype == DType.F32 || dtype == DType.F64 : dtype;
        assert shape.elements() == values.length : values.length + " values for shape " + shape;
    }

    /**
     * Reads a file.
     *
     * @throws UserException if it cannot be read, is not an array file, or holds another element type or order
     */
    public static NpyFile read(Path path) {
        byte[] bytes;
        try {
            bytes = RegularFile.read(path, MAX_BYTES);
        } catch (IOException failure) {
            throw FileFault.unreadable("array file " + path, failure);
        }
        int versionEnd = MAGIC.length + 2;
        if (bytes.length < versionEnd + 2 || !Arrays.equals(bytes, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            throw fault(path, "is not a NumPy array file", "Write it with numpy.save.");
        }
        int version = bytes[MAGIC.length];
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int lengthBytes = version == 1 ? 2 : 4;
        long length = version == 1 ? buffer.getShort(versionEnd) & 0xFFFF
            : bytes.length < versionEnd + 4 ? Long.MAX_VALUE : buffer.getInt(versionEnd) & 0xFFFFFFFFL;
        if (version < 1 || version > 3) {
            throw fault(path, "has format version " + version, "Write it again in version 1, 2 or 3.");
        }
        if (length > bytes.length - versionEnd - lengthBytes) {
            throw fault(path, "is cut off in its header", "Copy or write it again.");
        }
        int start = versionEnd + lengthBytes;
        String header = new String(bytes, start, (int) length, StandardCharsets.UTF_8);
        return parse(path, header, buffer.position(start + (int) length));
    }

    private static NpyFile parse(Path path, String header, ByteBuffer data) {
        String descr = find(path, DESCR, header);
        if (!descr.matches("[<>]f[48]")) {
            throw fault(path, "holds elements of type '" + descr + "'", "Save it as float32 or float64.");
        }
        if (find(path, FORTRAN, header).equals("True")) {
            throw fault(path, "is stored in Fortran order", "Save numpy.ascontiguousarray(array) instead.");
        }
        long[] extents;
        long needed = descr.charAt(2) - '0';
        try {
            extents = Arrays.stream(find(path, SHAPE, header).split(","))
                .map(String::strip).filter(text -> !text.isEmpty()).mapToLong(Long::parseLong).toArray();
            for (long extent : extents) {
                needed = Math.multiplyExact(needed, extent);
            }
        } catch (NumberFormatException | ArithmeticException impossible) {
            throw fault(path, "has a header that cannot be parsed: " + header.strip(), "Write it again.");
        }
        if (needed <= 0) {
            throw fault(path, "is empty: shape " + Arrays.toString(extents), "Write it again.");
        }
        if (data.remaining() < needed) {
            throw fault(path, "is cut off: its elements need " + needed + " bytes and it has " + data.remaining(),
                "Copy or write it again.");
        }
        data.order(descr.charAt(0) == '<' ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
        DType dtype = descr.endsWith("f4") ? DType.F32 : DType.F64;
        double[] values = new double[(int) (needed / dtype.bytes())];
        for (int i = 0; i < values.length; i++) {
            values[i] = dtype == DType.F32 ? data.getFloat() : data.getDouble();
        }
        return new NpyFile(dtype, Shape.of(extents), values);
    }

    /**
     * Writes the array to a data directory.
     *
     * @throws UserException if it cannot be written
     */
    public void write(Path path) {
        write(path, "--data_dir");
    }

    /**
     * Writes the array as a version 1 file in little-endian byte order.
     *
     * @param option the command-line option that selects another directory, for error messages
     * @throws UserException if it cannot be written
     */
    public void write(Path path, String option) {
        String extents = Arrays.stream(shape.extents()).mapToObj(Long::toString).collect(Collectors.joining(", "))
            + (shape.rank() == 1 ? "," : "");
        String header = "{'descr': '<f" + dtype.bytes() + "', 'fortran_order': False, 'shape': (" + extents + "), }";
        int prefix = MAGIC.length + 4;
        int padded = -Math.floorDiv(-(prefix + header.length() + 1), HEADER_ALIGNMENT) * HEADER_ALIGNMENT;
        header += " ".repeat(padded - prefix - header.length() - 1) + "\n";
        ByteBuffer buffer = ByteBuffer.allocate(Math.addExact(padded, Math.multiplyExact(values.length, dtype.bytes())))
            .order(ByteOrder.LITTLE_ENDIAN);
        buffer.put(MAGIC).put((byte) 1).put((byte) 0).putShort((short) header.length());
        buffer.put(header.getBytes(StandardCharsets.US_ASCII));
        for (double value : values) {
            if (dtype == DType.F32) {
                buffer.putFloat((float) value);
            } else {
                buffer.putDouble(value);
            }
        }
        new AtomicFile("array file", path, option).write(buffer.array());
    }

    private static String find(Path path, Pattern pattern, String header) {
        Matcher matcher = pattern.matcher(header);
        if (!matcher.find()) {
            throw fault(path, "has a header that cannot be parsed: " + header.strip(), "Write it again.");
        }
        return matcher.group(1);
    }

    private static UserException fault(Path path, String wrong, String remedy) {
        return new UserException(PlainText.of("Array file " + path + " " + wrong + ". " + remedy));
    }
}
