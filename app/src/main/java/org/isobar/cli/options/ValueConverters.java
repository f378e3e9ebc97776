package org.isobar.cli.options;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.function.Function;

import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the values of options to numbers and paths, with messages that name no Java types. */
public final class ValueConverters {
    private ValueConverters() { }

    /** Registers the converters with a command and its subcommands. */
    public static void register(CommandLine command) {
        ITypeConverter<Integer> whole = number(Integer::valueOf, "a whole number of at most " + Integer.MAX_VALUE);
        ITypeConverter<Long> large = number(Long::valueOf, "a whole number of at most " + Long.MAX_VALUE);
        ITypeConverter<Double> real = number(Double::valueOf, "a number");
        command.registerConverter(Integer.class, whole).registerConverter(int.class, whole);
        command.registerConverter(Long.class, large).registerConverter(long.class, large);
        command.registerConverter(Double.class, real).registerConverter(double.class, real);
        command.registerConverter(Path.class, ValueConverters::path);
    }

    private static <T> ITypeConverter<T> number(Function<String, T> parser, String expected) {
        return text -> {
            try {
                return parser.apply(text);
            } catch (NumberFormatException e) {
                throw new TypeConversionException("'" + text + "' is not " + expected);
            }
        };
    }

    /** An empty path would be the current directory, and is most often an unset variable of a script. */
    private static Path path(String text) {
        if (text.isBlank()) {
            throw new TypeConversionException("the path is empty");
        }
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new TypeConversionException("'" + text + "' is not a path: " + e.getReason());
        }
    }
}
