package org.isobar.data.convert;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.stream.DoubleStream;

import org.isobar.data.source.ArrayAttributes;
import org.isobar.data.source.NumberType;
import org.isobar.data.source.StoredArray;
import org.isobar.fault.UserException;

/**
 * Unpacks the elements of an array by its attributes {@code scale_factor}, {@code add_offset}, {@code _FillValue} and
 * {@code missing_value} (CF conventions, sections 2.5 and 8.1): {@code element * scale + offset} in double precision,
 * rounded once to single precision. A missing element is NaN. An array of floating-point numbers without a fill value
 * has NetCDF's default one.
 */
final class CfPacking {
    private static final double NETCDF_FILL = 9.969209968386869e36; // NC_FILL_FLOAT and NC_FILL_DOUBLE

    private static final int MAGNITUDE = 0x7FFF_FFFF; // bits of a number without its sign

    private final NumberType type;
    private final boolean plain; // elements are values
    private final boolean scaled;
    private final boolean shifted;
    private final double scale;
    private final double offset;
    private final double[] missing;
    private final float[] missingFloats;

    private CfPacking(NumberType type, double[] missing, double scale, double offset, ArrayAttributes attributes) {
        this.type = type;
        double[] narrow = Arrays.stream(missing).map(value -> (float) value).distinct().toArray();
        this.missing = type == NumberType.F32 ? narrow : missing; // as the elements were rounded
        missingFloats = new float[narrow.length];
        for (int i = 0; i < narrow.length; i++) {
            missingFloats[i] = (float) narrow[i];
        }
        this.scale = scale;
        this.offset = offset;
        scaled = attributes.has("scale_factor");
        shifted = attributes.has("add_offset");
        plain = !scaled && !shifted;
    }

    /**
     * How an array is packed.
     *
     * @param subject the array, for messages
     * @throws UserException if the scale factor is zero or one of the attributes is no finite number
     */
    static CfPacking of(String subject, StoredArray array) {
        ArrayAttributes attributes = array.attributes();
        double scale = number(subject, attributes, "scale_factor", 1);
        if (scale == 0) {
            throw new UserException(subject + " has the scale_factor 0, so all its values are equal. Download or make "
                + "the file again.");
        }
        boolean unsigned = attributes.text("_Unsigned").filter(text -> text.equalsIgnoreCase("true")).isPresent();
        NumberType type = unsigned ? array.type().unsigned() : array.type();
        double[] missing = DoubleStream.concat(
            Arrays.stream(attributes.numbers("_FillValue").orElse(array.type().isFloat()
                ? new double[] {NETCDF_FILL, (float) NETCDF_FILL} : new double[0])),
            Arrays.stream(attributes.numbers("missing_value").orElse(new double[0])))
            .filter(value -> !Double.isNaN(value)).map(value -> wrapped(value, type)).distinct().toArray();
        return new CfPacking(type, missing, scale, number(subject, attributes, "add_offset", 0), attributes);
    }

    /** A fill value as an element of the type, for bytes that are meant to be unsigned. */
    private static double wrapped(double value, NumberType type) {
        if (type.isFloat() || value >= 0 || type != type.unsigned()) {
            return value;
        }
        return value + Math.pow(2, type.bytes() * Byte.SIZE);
    }

    private static double number(String subject, ArrayAttributes attributes, String name, double absent) {
        if (!attributes.has(name)) {
            return absent;
        }
        double[] numbers = attributes.numbers(name).orElse(new double[] {Double.NaN});
        if (numbers.length != 1 || !Double.isFinite(numbers[0])) {
            throw new UserException(subject + " has an attribute " + name + " that is no finite number. Download or "
                + "make the file again.");
        }
        return numbers[0];
    }

    /**
     * Unpacks elements that are {@code stride} apart.
     *
     * @param first  number of the first element in {@code source}
     * @param buffer at least {@code count} numbers, overwritten
     * @param target receives the values from {@code at} on
     */
    void unpack(MemorySegment source, long first, int stride, int count, double[] buffer, float[] target, int at) {
        if (plain && stride == 1 && type == NumberType.F32) {
            MemorySegment.copy(source, ValueLayout.JAVA_FLOAT_UNALIGNED, first * Float.BYTES, target, at, count);
            for (float fill : missingFloats) {
                replace(target, at, count, fill);
            }
            return;
        }
        type.widen(source, first, stride, count, buffer);
        for (double fill : missing) {
            for (int i = 0; i < count; i++) {
                buffer[i] = buffer[i] == fill ? Double.NaN : buffer[i];
            }
        }
        for (int i = 0; i < count; i++) {
            double value = scaled ? buffer[i] * scale : buffer[i];
            target[at + i] = (float) (shifted ? value + offset : value);
        }
    }

    /** Replaces a fill value. Most rows have no value as large, which takes less time to see. */
    private static void replace(float[] target, int at, int count, float fill) {
        if (largestBits(target, at, count) < (Float.floatToRawIntBits(fill) & MAGNITUDE)) {
            return;
        }
        for (int i = at; i < at + count; i++) {
            if (target[i] == fill) {
                target[i] = Float.NaN;
            }
        }
    }

    /** The bits of the number that is largest without its sign; those of an infinity or more if one is not finite. */
    static int largestBits(float[] values, int at, int count) {
        MemorySegment numbers = MemorySegment.ofArray(values); // a loop over its integers is one of vectors
        long first = (long) at * Float.BYTES;
        int largest = 0;
        for (int i = 0; i < count; i++) {
            largest = Math.max(largest,
                numbers.get(ValueLayout.JAVA_INT_UNALIGNED, first + (long) i * Float.BYTES) & MAGNITUDE);
        }
        return largest;
    }
}
