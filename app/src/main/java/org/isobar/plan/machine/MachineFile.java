package org.isobar.plan.machine;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

import org.isobar.config.keys.Setting;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.config.yaml.YamlFile;
import org.isobar.fault.UserException;

/**
 * Reads a machine file: YAML with one map, whose name is that of the machine. Each number is a list of value, source
 * ({@code measured}, {@code published} or {@code guessed}), date, and the run or publication that it is from.
 */
public final class MachineFile {
    /** The machines that are shipped. */
    public static final List<String> SHIPPED =
        List.of("cpu-2-cores", "perlmutter-a100-40", "perlmutter-a100-80", "h100-sxm", "h100-nvl");
    private static final String NUMBER = "[NUMBER, measured|published|guessed, DATE, RUN]";
    private static final List<String> TEXTS = List.of("description", "device", "kind");
    private static final String PROFILE = "tutorial_ms.";

    private final Path file;
    private final Map<String, Setting> settings;

    private MachineFile(Path file, Map<String, Setting> settings) {
        this.file = file;
        this.settings = settings;
    }

    /**
     * The machine of a shipped file, or of a file of the user.
     *
     * @param nameOrFile one of {@link #SHIPPED}, or a path
     * @throws UserException if there is no such machine, or its file is wrong
     */
    public static Machine load(String nameOrFile) {
        return load("--machine", nameOrFile);
    }

    /**
     * Loads a machine as {@link #load(String)} does.
     *
     * @param origin the option or variable that has the name, for the message about a missing file
     */
    public static Machine load(String origin, String nameOrFile) {
        if (SHIPPED.contains(nameOrFile)) {
            Path name = Path.of(nameOrFile + ".yaml");
            return read(name, YamlFile.of(name, resource(nameOrFile + ".yaml")));
        }
        Path file = Path.of(nameOrFile);
        if (!Files.exists(file)) {
            throw new UserException(origin + "=" + nameOrFile + " is no machine file and none of the shipped machines."
                + SpellingSuggestion.hint(nameOrFile, SHIPPED) + " They are " + String.join(", ", SHIPPED) + ".");
        }
        return read(file, new YamlFile(file));
    }

    private static String resource(String name) {
        try (InputStream stream = MachineFile.class.getResourceAsStream(name)) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    private static Machine read(Path file, YamlFile yaml) {
        List<String> names = yaml.names();
        if (names.size() != 1) {
            throw new UserException(file + " has the maps " + names + "; a machine file has one, the machine's.");
        }
        return new MachineFile(file, yaml.preset(names.getFirst())).machine(names.getFirst());
    }

    private Machine machine(String name) {
        Map<String, Quantity> numbers = new TreeMap<>();
        Map<String, Map<String, Quantity>> profiles = new TreeMap<>();
        MachineKeys.ALL.forEach(key -> numbers.put(key, checked(key)));
        settings.keySet().stream().filter(key -> key.startsWith(PROFILE)).forEach(key -> {
            String[] parts = key.split("\\.");
            require(parts.length == 3, key, "tutorial_ms.PRECISION.CLASS");
            require(number(key).value() > 0, key, "a number over 0");
            profiles.computeIfAbsent(parts[1], _ -> new TreeMap<>()).put(parts[2], number(key));
        });
        settings.keySet().stream().filter(key -> !key.startsWith(PROFILE) && !MachineKeys.ALL.contains(key)
            && !TEXTS.contains(key) && !TABLES.contains(key)).findFirst().ifPresent(key -> {
                List<String> known = Stream.of(MachineKeys.ALL, TEXTS, TABLES).flatMap(List::stream).toList();
                throw fail(key, "there is no such key." + SpellingSuggestion.hint(key, known));
            });
        return new Machine(name, text("description"), text("device"), kind(), numbers, attention(), profiles,
            collectives(), operations(), shared());
    }

    private static final List<String> TABLES = List.of("attention_tflops", "collectives", "operations",
        "shared_operations");

    private Machine.Kind kind() {
        String kind = text("kind");
        require(kind.equals("gpu") || kind.equals("cpu"), "kind", "cpu or gpu");
        return Machine.Kind.valueOf(kind.toUpperCase(Locale.ROOT));
    }

    private String text(String key) {
        require(settings.containsKey(key) && settings.get(key).raw() instanceof String, key, "a text");
        return (String) settings.get(key).raw();
    }

    private Quantity number(String key) {
        require(settings.containsKey(key) && settings.get(key).raw() instanceof List<?>, key, NUMBER);
        return quantity(key, (List<?>) settings.get(key).raw());
    }

    /** A number of the machine that predictions divide by. */
    private Quantity checked(String key) {
        Quantity number = number(key);
        require(number.value() > 0 || MachineKeys.MAY_BE_ZERO.contains(key), key, "a number over 0");
        require(number.value() >= 1 || !MachineKeys.COUNTS.contains(key), key, "a number of at least 1");
        return number;
    }

    private Quantity quantity(String key, List<?> parts) {
        require(parts.size() == 4, key, NUMBER);
        Quantity.Source source = Stream.of(Quantity.Source.values())
            .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(parts.get(1))).findFirst()
            .orElseThrow(() -> expected(key, NUMBER));
        double value = real(key, parts.get(0));
        require(value >= 0, key, "a number of at least 0");
        return new Quantity(value, source, parts.get(2).toString(), parts.get(3).toString());
    }

    private double real(String key, Object raw) {
        double value;
        try {
            value = Double.parseDouble(raw.toString());
        } catch (NumberFormatException none) {
            value = Double.NaN;
        }
        require(Double.isFinite(value), key, "numbers where it has '" + raw + "'");
        return value;
    }

    /** Rows of half or single, head size, TFLOP/s forward and backward, source, date, run. */
    private List<AttentionRate> attention() {
        return rows("attention_tflops", 7, row -> {
            boolean half = row.getFirst().equals("half");
            require(half || row.getFirst().equals("single"), "attention_tflops", "rows that begin with half or single");
            List<?> origin = row.subList(4, 7);
            row.subList(1, 4).forEach(cell -> require(real("attention_tflops", cell) >= 1e-9, "attention_tflops",
                "numbers over 0"));
            return new AttentionRate(half, (long) real("attention_tflops", row.get(1)),
                quantity("attention_tflops", joined(row.get(2), origin)),
                quantity("attention_tflops", joined(row.get(3), origin)));
        });
    }

    private static List<Object> joined(Object value, List<?> origin) {
        List<Object> parts = new ArrayList<>(List.of(value));
        parts.addAll(origin);
        return parts;
    }

    /** The name of a shipped table, or rows of operation, nodes, ranks of a node, bytes, microseconds. */
    private Optional<CollectiveTable> collectives() {
        Setting given = settings.get("collectives");
        if (given == null) {
            return Optional.empty();
        }
        if (given.raw() instanceof String shipped) {
            require(CollectiveTable.class.getResource(shipped + ".csv") != null, "collectives",
                "rows, or the name of a shipped table, nccl_perlmutter_a100");
            return Optional.of(CollectiveTable.of(CollectiveTable.shipped(shipped)));
        }
        return Optional.of(CollectiveTable.of(rows("collectives", 5, row -> new CollectiveTable.Row(
            row.getFirst().toString(), (int) count("collectives", row.get(1)), (int) count("collectives", row.get(2)),
            (long) count("collectives", row.get(3)), positive("collectives", row.get(4)) / 1e6))));
    }

    /** Rows of name, type, floating-point operations, bytes, microseconds. */
    private List<MeasuredOperation> operations() {
        return rows("operations", 5, row -> operation("operations", row));
    }

    /** Rows of the number of processes, and then those of {@link #operations}. */
    private NavigableMap<Integer, List<MeasuredOperation>> shared() {
        NavigableMap<Integer, List<MeasuredOperation>> all = new TreeMap<>();
        rows("shared_operations", 6, row -> all.computeIfAbsent(
            (int) Math.ceil(positive("shared_operations", row.getFirst())), _ -> new ArrayList<>())
            .add(operation("shared_operations", row.subList(1, 6))));
        return all;
    }

    private MeasuredOperation operation(String key, List<?> row) {
        String name = row.get(0).toString();
        double flops = real(key, row.get(2));
        require(flops > 0 || flops == 0 && !name.startsWith("attention"), key,
            "floating-point operations of at least 0, and of attention over 0");
        return new MeasuredOperation(name, row.get(1).toString(), flops, positive(key, row.get(3)),
            positive(key, row.get(4)) / 1e6);
    }

    private double count(String key, Object raw) {
        double value = real(key, raw);
        require(value >= 1, key, "numbers of nodes, ranks and bytes of at least 1");
        return value;
    }

    private double positive(String key, Object raw) {
        double value = real(key, raw);
        require(value > 0, key, "positive numbers of bytes and microseconds");
        return value;
    }

    private <T> List<T> rows(String key, int cells, Function<List<?>, T> read) {
        Setting given = settings.get(key);
        if (given == null) {
            return List.of();
        }
        require(given.raw() instanceof List<?>, key, "a list of rows");
        return ((List<?>) given.raw()).stream().map(row -> {
            require(row instanceof List<?> list && list.size() == cells, key, "rows of " + cells + " cells");
            return read.apply((List<?>) row);
        }).toList();
    }

    private void require(boolean condition, String key, String wanted) {
        if (!condition) {
            throw expected(key, wanted);
        }
    }

    private UserException expected(String key, String wanted) {
        return settings.containsKey(key) ? fail(key, "it takes " + wanted + ".")
            : new UserException("machine file " + file + ": the key '" + key + "' is missing; it takes " + wanted
                + ".");
    }

    private UserException fail(String key, String problem) {
        return new UserException("machine file " + file + ", " + settings.get(key).origin() + ", " + key + ": "
            + problem);
    }
}
