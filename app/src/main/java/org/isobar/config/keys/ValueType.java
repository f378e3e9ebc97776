package org.isobar.config.keys;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.DoublePredicate;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.isobar.telemetry.PythonFormat;

/**
 * The values that a key takes. It reads raw values, which are a {@code String} or a {@code List} of raw values, as they
 * stand in the YAML file. So the key's type alone decides what {@code 5E-4}, {@code None} or {@code 010} mean, not the
 * version of YAML.
 *
 * @param label the value's placeholder in an option's help
 * @param expected what is accepted, to complete the sentence "but it takes ..."
 * @param reader reads a raw value; empty if it is not of this type
 */
public record ValueType<T>(String label, String expected, Function<Object, Optional<T>> reader) {
    /** Most rows or columns of an image, so that the number of its tokens has 32 bits. */
    static final int MOST_PIXELS = 1 << 15;
    /** The name of a channel. */
    public static final String CHANNEL = "[A-Za-z0-9][A-Za-z0-9_.-]{0,99}";
    static final ValueType<Boolean> FLAG = scalar("true|false", "true or false",
        text -> switch (text.toLowerCase(Locale.ROOT)) {
            case "true" -> Optional.of(true);
            case "false" -> Optional.of(false);
            default -> Optional.empty();
        });
    static final ValueType<String> TEXT =
        scalar("TEXT", "a text", text -> Optional.of(text).filter(given -> !given.isBlank()));
    /** The name of one file or directory: it names no other directory and fits into one line. */
    static final ValueType<String> FILE_NAME = scalar("NAME",
        "the name of one directory: no '/', neither '.' nor '..', no line break or other control character",
        text -> TEXT.reader.apply(text).filter(ValueType::isFileName));
    static final ValueType<Path> PATH = scalar("PATH", "a path", ValueType::path);
    static final ValueType<Resume> RESUME = scalar("auto|never|PATH", "auto, never, or the path of a checkpoint",
        text -> switch (text.toLowerCase(Locale.ROOT)) {
            case "auto" -> Optional.of(new Resume.Auto());
            case "never" -> Optional.of(new Resume.Never());
            default -> path(text).map(Resume.From::new);
        });
    /** Axes of the process grid, each at most once. */
    static final ValueType<String> AXES =
        scalar("AXES", "distinct axes of tp, cp, dp and pp, fastest first, as in tp-cp-dp", ValueType::axes);
    /** Rows and columns, that is latitudes and longitudes. */
    static final ValueType<List<Integer>> IMAGE_SIZE =
        new ValueType<>("LIST", "[latitudes, longitudes], two whole numbers from 1 to " + MOST_PIXELS,
            ValueType::imageSize);
    static final ValueType<StepRange> STEP_RANGE = scalar("STEPS",
        "a step or a range of at most " + StepRange.MOST + " steps, such as 10-12", StepRange::of);
    /** A number of bytes, in units of 2^10, 2^20, 2^30 or 2^40 bytes as in the log. */
    static final ValueType<Long> BYTES = scalar("SIZE",
        "a size such as 2GB, 1.5GB or 800MB, at least 1KB; a GB is 2^30 bytes", ValueType::bytes);
    /** Names of channels, each once. */
    static final ValueType<List<String>> NAMES = new ValueType<>("LIST",
        "a list of distinct names, such as [u10, t2m], each of letters, digits, '_', '.' and '-'", ValueType::names);

    /** Possessive: other quantifiers would take quadratic time for a long row of digits that ends with a letter. */
    private static final Pattern DECIMAL = Pattern.compile("[+-]?(\\d++(\\.\\d*+)?|\\.\\d++)([eE][+-]?\\d++)?");
    private static final Pattern SIZE = Pattern.compile("(\\d{1,19}+(?:\\.\\d{1,6}+)?) ?([KMGT]i?)?B?",
        Pattern.CASE_INSENSITIVE);
    private static final Set<String> NONE = Set.of("", "~", "none", "null");

    static ValueType<Long> whole(long smallest, long largest) {
        return whole(smallest == Long.MIN_VALUE ? " of 64 bits" : " from " + smallest + " to " + largest, smallest,
            largest);
    }

    private static ValueType<Long> whole(String range, long smallest, long largest) {
        return scalar("N", "a whole number" + range, text -> {
            try {
                return Optional.of(Long.valueOf(text)).filter(n -> n >= smallest && n <= largest);
            } catch (NumberFormatException e) {
                return Optional.empty();
            }
        });
    }

    /** Whole numbers of at least {@code smallest} that are integers of 32 bits. */
    public static ValueType<Integer> count(int smallest) {
        return count(smallest, Integer.MAX_VALUE);
    }

    static ValueType<Integer> count(int smallest, int largest) {
        ValueType<Long> whole = whole(smallest, largest);
        return new ValueType<>(whole.label, whole.expected, raw -> whole.reader.apply(raw).map(Long::intValue));
    }

    static ValueType<Double> real(String range, DoublePredicate accepted) {
        return scalar("X", "a number " + range, text -> Optional.of(text)
            .filter(DECIMAL.asMatchPredicate())
            .map(Double::valueOf)
            .filter(number -> Double.isFinite(number) && accepted.test(number)));
    }

    static <E extends Enum<E>> ValueType<E> oneOf(Class<E> choices) {
        List<E> constants = Arrays.asList(choices.getEnumConstants());
        String names = constants.stream().map(PythonFormat::str).collect(Collectors.joining(", "));
        return scalar(names.replace(", ", "|"), "one of: " + names,
            text -> constants.stream().filter(constant -> constant.name().equalsIgnoreCase(text)).findFirst());
    }

    static ValueType<String> oneOf(Set<String> names) {
        String sorted = String.join(", ", new TreeSet<>(names));
        return scalar(sorted.replace(", ", "|"), "one of: " + sorted, text -> Optional.of(text)
            .filter(names::contains));
    }

    static ValueType<Integer> oneOf(Integer... numbers) {
        String names = Arrays.stream(numbers).map(String::valueOf).collect(Collectors.joining(", "));
        return scalar("N", "one of: " + names, text -> Arrays.stream(numbers)
            .filter(number -> number.toString().equals(text)).findFirst());
    }

    static ValueType<String> only(String choice) {
        return scalar(choice, "nothing but " + choice, text -> Optional.of(choice).filter(text::equalsIgnoreCase));
    }

    /** This type, or {@code None}. */
    ValueType<Optional<T>> optional() {
        return new ValueType<>(label, expected + ", or None", raw -> isNone(raw)
            ? Optional.of(Optional.empty()) : reader.apply(raw).map(Optional::of));
    }

    private static <T> ValueType<T> scalar(String label, String expected, Function<String, Optional<T>> reader) {
        return new ValueType<>(label, expected, raw -> raw instanceof String text ? reader.apply(text)
            : Optional.empty());
    }

    private static boolean isNone(Object raw) {
        return raw instanceof String text && NONE.contains(text.toLowerCase(Locale.ROOT));
    }

    private static Optional<Path> path(String text) {
        try {
            return text.isBlank() ? Optional.empty() : Optional.of(Path.of(text));
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** Whether a text is the name of one file or directory. */
    public static boolean isFileName(String text) {
        return path(text).isPresent() && text.indexOf('/') < 0 && !text.equals(".") && !text.equals("..")
            && text.codePoints().noneMatch(ValueType::breaksLines);
    }

    private static boolean breaksLines(int character) {
        int type = Character.getType(character);
        return type == Character.CONTROL || type == Character.LINE_SEPARATOR || type == Character.PARAGRAPH_SEPARATOR;
    }

    private static Optional<String> axes(String text) {
        List<String> axes = List.of(text.split("-", -1));
        boolean distinct = Set.copyOf(axes).size() == axes.size();
        return distinct && Set.of("tp", "cp", "dp", "pp").containsAll(axes) ? Optional.of(text) : Optional.empty();
    }

    private static Optional<Long> bytes(String text) {
        Matcher size = SIZE.matcher(text.strip());
        if (!size.matches()) {
            return Optional.empty();
        }
        int thousands = size.group(2) == null ? 0 : 1 + "KMGT".indexOf(Character.toUpperCase(size.group(2).charAt(0)));
        double bytes = Double.parseDouble(size.group(1)) * Math.pow(1024, thousands);
        return Optional.of(Math.round(bytes)).filter(count -> count >= 1024 && bytes < 0x1p62);
    }

    private static Optional<List<String>> names(Object raw) {
        if (!(raw instanceof List<?> texts) || texts.isEmpty() || Set.copyOf(texts).size() < texts.size()) {
            return Optional.empty();
        }
        List<String> names = texts.stream().filter(text -> text instanceof String name && name.matches(CHANNEL))
            .map(String.class::cast).toList();
        return names.size() == texts.size() ? Optional.of(names) : Optional.empty();
    }

    private static Optional<List<Integer>> imageSize(Object raw) {
        if (!(raw instanceof List<?> sides) || sides.size() != 2) {
            return Optional.empty();
        }
        List<Integer> read = sides.stream().flatMap(side -> count(1, MOST_PIXELS).reader.apply(side).stream()).toList();
        return read.size() == 2 ? Optional.of(read) : Optional.empty();
    }
}
