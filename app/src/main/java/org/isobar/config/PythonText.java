package org.isobar.config;

import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Values as Python's {@code str} prints them, so that the log reads as the tutorial's does. */
final class PythonText {
    private PythonText() { }

    static String of(Object value) {
        return switch (value) {
            case Boolean flag -> flag ? "True" : "False";
            case Double number -> repr(number);
            case Enum<?> choice -> choice.name().toLowerCase(Locale.ROOT);
            case Optional<?> optional -> optional.map(PythonText::of).orElse("None");
            case List<?> list -> list.stream().map(PythonText::of).collect(Collectors.joining(", ", "[", "]"));
            default -> value.toString();
        };
    }

    /** The shortest digits that give the number back, as an exponent only below 1e-4 and from 1e16 on. */
    private static String repr(double value) {
        BigDecimal shortest = new BigDecimal(Double.toString(value)).stripTrailingZeros();
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (value == 0 || exponent >= -4 && exponent < 16) {
            String plain = shortest.toPlainString();
            return plain.contains(".") ? plain : plain + ".0";
        }
        BigDecimal mantissa = shortest.movePointLeft(exponent).stripTrailingZeros();
        return String.format(Locale.ROOT, "%se%s%02d", mantissa.toPlainString(), exponent < 0 ? "-" : "+",
            Math.abs(exponent));
    }
}
