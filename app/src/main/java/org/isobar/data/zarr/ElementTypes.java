package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.data.source.NumberType;

/** Names of element types and fill values in the metadata of both versions. */
final class ElementTypes {
    private static final Pattern NUMPY = Pattern.compile("([<>|])([biufM])([1248])(?:\\[([a-zA-Z]+)])?");
    private static final Map<String, NumberType> NAMED = Map.ofEntries(
        Map.entry("bool", NumberType.U8), Map.entry("int8", NumberType.I8), Map.entry("uint8", NumberType.U8),
        Map.entry("int16", NumberType.I16), Map.entry("uint16", NumberType.U16), Map.entry("int32", NumberType.I32),
        Map.entry("uint32", NumberType.U32), Map.entry("int64", NumberType.I64), Map.entry("uint64", NumberType.U64),
        Map.entry("float16", NumberType.F16), Map.entry("float32", NumberType.F32),
        Map.entry("float64", NumberType.F64));
    private static final Map<String, NumberType> NUMPY_NAMES = Map.ofEntries(
        Map.entry("b1", NumberType.U8), Map.entry("i1", NumberType.I8), Map.entry("u1", NumberType.U8),
        Map.entry("i2", NumberType.I16), Map.entry("u2", NumberType.U16), Map.entry("i4", NumberType.I32),
        Map.entry("u4", NumberType.U32), Map.entry("i8", NumberType.I64), Map.entry("u8", NumberType.U64),
        Map.entry("f2", NumberType.F16), Map.entry("f4", NumberType.F32), Map.entry("f8", NumberType.F64),
        Map.entry("M8", NumberType.I64));
    /** Units of NumPy's times, as CF writes them. */
    private static final Map<String, String> TIMES = Map.of("D", "days", "h", "hours", "m", "minutes", "s", "seconds",
        "ms", "milliseconds", "us", "microseconds", "ns", "nanoseconds");

    private ElementTypes() { }

    /**
     * A type of numbers.
     *
     * @param type  how they are stored
     * @param order their byte order
     * @param units what they count, if they are times: {@code hours since 1970-01-01}; else null
     */
    record Element(NumberType type, ByteOrder order, String units) { }

    /** The type that version 2 writes as {@code <f4}; empty if it is not one of numbers or times. */
    static Optional<Element> version2(String dtype) {
        Matcher matcher = NUMPY.matcher(dtype);
        if (!matcher.matches() || !NUMPY_NAMES.containsKey(matcher.group(2) + matcher.group(3))) {
            return Optional.empty();
        }
        boolean isTime = matcher.group(2).equals("M");
        String units = matcher.group(4) == null ? null : TIMES.get(matcher.group(4));
        if (isTime != (units != null)) {
            return Optional.empty();
        }
        return Optional.of(new Element(NUMPY_NAMES.get(matcher.group(2) + matcher.group(3)),
            matcher.group(1).equals(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN,
            units == null ? null : units + " since 1970-01-01"));
    }

    /** The type that version 3 writes as {@code float32}; empty if it is not one of numbers or times. */
    static Optional<Element> version3(JsonNode type, ByteOrder order) {
        if (type.isTextual()) {
            return Optional.ofNullable(NAMED.get(type.asText())).map(number -> new Element(number, order, null));
        }
        JsonNode configuration = type.path("configuration");
        String unit = TIMES.get(configuration.path("unit").asText());
        boolean isTime = type.path("name").asText().equals("numpy.datetime64") && unit != null
            && configuration.path("scale_factor").asInt(1) == 1;
        return isTime ? Optional.of(new Element(NumberType.I64, order, unit + " since 1970-01-01")) : Optional.empty();
    }

    /**
     * The bytes of a fill value.
     *
     * @throws IllegalArgumentException if it is not a value of the type
     */
    static byte[] fill(JsonNode value, Element element) {
        NumberType type = element.type;
        byte[] bytes = new byte[type.bytes()];
        MemorySegment target = MemorySegment.ofArray(bytes);
        if (value.isTextual() && value.asText().startsWith("0x")) {
            byte[] bits = HexFormat.of().parseHex(value.asText().substring(2));
            if (bits.length != bytes.length) {
                throw new IllegalArgumentException("it has " + bits.length + " bytes");
            }
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = bits[element.order == ByteOrder.BIG_ENDIAN ? i : bytes.length - 1 - i];
            }
            return bytes;
        }
        if (type.isFloat()) {
            double number = number(value);
            switch (type) {
                case F16 -> target.set(ValueLayout.JAVA_SHORT_UNALIGNED, 0, Float.floatToFloat16((float) number));
                case F32 -> target.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 0, (float) number);
                default -> target.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, 0, number);
            }
        } else {
            long number = integer(value, element);
            switch (type.bytes()) {
                case 1 -> target.set(ValueLayout.JAVA_BYTE, 0, (byte) number);
                case Short.BYTES -> target.set(ValueLayout.JAVA_SHORT_UNALIGNED, 0, (short) number);
                case Integer.BYTES -> target.set(ValueLayout.JAVA_INT_UNALIGNED, 0, (int) number);
                default -> target.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, number);
            }
        }
        type.toNative(target, 1, element.order); // its own inverse
        return bytes;
    }

    private static double number(JsonNode value) {
        return switch (value.asText()) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            case String text when value.isNumber() -> Double.parseDouble(text);
            default -> throw new IllegalArgumentException("it is not a number");
        };
    }

    private static long integer(JsonNode value, Element element) {
        if (value.isBoolean()) {
            return value.asBoolean() ? 1 : 0;
        }
        if (element.units != null && value.asText().equals("NaT")) {
            return Long.MIN_VALUE;
        }
        if (!value.isNumber() || value.decimalValue().stripTrailingZeros().scale() > 0) {
            throw new IllegalArgumentException("it is not a whole number");
        }
        BigInteger whole = value.decimalValue().toBigInteger();
        boolean isUnsigned = element.type == element.type.unsigned();
        int bits = element.type.bytes() * Byte.SIZE;
        if (isUnsigned ? whole.signum() < 0 || whole.bitLength() > bits : whole.bitLength() >= bits) {
            throw new IllegalArgumentException("it has too many digits");
        }
        return whole.longValue();
    }
}
