package org.isobar.telemetry;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Formats values as Python does, so that the tutorial's log lines are reproduced to the last digit. */
public final class PythonFormat {
    private static final int FIXED_DIGITS = 6;
    private static final int SMALLEST_PLAIN_EXPONENT = -4;
    private static final int LARGEST_PLAIN_EXPONENT = 15;

    private PythonFormat() { }

    /** {@code str(value)}: text without quotes, everything else as {@link #repr(Object)}. */
    public static String str(Object value) {
        return switch (value) {
            case CharSequence text -> text.toString();
            case Optional<?> optional when optional.isPresent() -> str(optional.get());
            case null, default -> repr(value);
        };
    }

    /**
     * {@code repr(value)} of null, a boolean, a number, text, a list or a map. An empty optional is formatted as null,
     * an enum constant as its name in lower case, and any other object by its {@code toString}.
     */
    public static String repr(Object value) {
        return switch (value) {
            case null -> "None";
            case Boolean truth -> truth ? "True" : "False";
            case Optional<?> optional -> repr(optional.orElse(null));
            case Enum<?> choice -> choice.name().toLowerCase(Locale.ROOT);
            case Double number -> repr(number.doubleValue());
            case Float number -> repr(number.doubleValue());
            case CharSequence text -> quoted(text.toString());
            case Map<?, ?> map -> map.entrySet().stream()
                .map(entry -> repr(entry.getKey()) + ": " + repr(entry.getValue()))
                .collect(Collectors.joining(", ", "{", "}"));
            case Collection<?> list -> list.stream()
                .map(PythonFormat::repr)
                .collect(Collectors.joining(", ", "[", "]"));
            default -> value.toString();
        };
    }

    /** {@code repr(x)}: the fewest digits that read back as x; with an exponent if below 1e-4 or at least 1e16. */
    public static String repr(double x) {
        if (!Double.isFinite(x)) {
            return nonFinite(x);
        }
        if (x == 0) {
            return sign(x) + "0.0";
        }
        BigDecimal shortest = shortest(Math.abs(x));
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (exponent >= SMALLEST_PLAIN_EXPONENT && exponent <= LARGEST_PLAIN_EXPONENT) {
            String plain = shortest.toPlainString();
            return sign(x) + (plain.contains(".") ? plain : plain + ".0");
        }
        String digits = shortest.unscaledValue().toString();
        String mantissa = digits.length() == 1 ? digits : digits.charAt(0) + "." + digits.substring(1);
        return String.format(Locale.ROOT, "%s%se%s%02d", sign(x), mantissa, exponent < 0 ? "-" : "+",
            Math.abs(exponent));
    }

    /** {@code '%f' % x}: six decimals of the exact binary value, ties to even; {@link String#format} rounds half up. */
    public static String fixed(double x) {
        if (!Double.isFinite(x)) {
            return nonFinite(x);
        }
        return sign(x) + new BigDecimal(Math.abs(x)).setScale(FIXED_DIGITS, RoundingMode.HALF_EVEN).toPlainString();
    }

    /** Java's shortest digits, except that Java prints two digits where one suffices (4.9E-324 for 5e-324). */
    private static BigDecimal shortest(double x) {
        BigDecimal digits = new BigDecimal(Double.toString(x)).stripTrailingZeros();
        BigDecimal single = digits.round(new MathContext(1, RoundingMode.HALF_EVEN));
        return digits.precision() == 2 && single.doubleValue() == x ? single.stripTrailingZeros() : digits;
    }

    private static String nonFinite(double x) {
        return Double.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
    }

    private static String sign(double x) {
        return Math.copySign(1, x) < 0 ? "-" : "";
    }

    private static String quoted(String text) {
        char quote = text.contains("'") && !text.contains("\"") ? '"' : '\'';
        StringBuilder quoted = new StringBuilder().append(quote);
        text.chars().forEach(c -> quoted.append(switch (c) {
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            case '\\' -> "\\\\";
            default -> c == quote ? "\\" + quote : Character.isISOControl(c) ? "\\x%02x".formatted(c) : (char) c + "";
        }));
        return quoted.append(quote).toString();
    }
}
