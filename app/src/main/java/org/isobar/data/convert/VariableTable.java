package org.isobar.data.convert;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;

/**
 * What short names stand for in stores. A line of a table has columns with blanks between them: short name, unit, level
 * in hPa, and the names of the variable in stores. A name that ends in {@code *}, with the level {@code *}, stands for
 * the name with any level after it. The level is {@code -} if the variable has none, and the unit is {@code -} if it is
 * that of the store. A line that begins with {@code #} is a comment.
 */
final class VariableTable {
    private static final String BUILT_IN = "names.txt";
    private static final int MAX_BYTES = 1 << 20;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]+");
    private static final String ANY = "*";
    private static final String NONE = "-";

    private final List<Line> lines;

    private VariableTable(List<Line> lines) {
        this.lines = lines;
    }

    private record Line(String name, String unit, String level, List<String> aliases) { }

    /**
     * A channel to be converted.
     *
     * @param name    its short name
     * @param unit    its unit; empty if it is that of the store
     * @param level   pressure level in hPa; empty if it has none
     * @param aliases names of the variable in stores, with that level as a dimension if there is a level
     */
    record Channel(String name, Optional<String> unit, OptionalInt level, List<String> aliases) { }

    /**
     * The built-in table, and that of a file, whose lines come first.
     *
     * @throws UserException if the file cannot be read or has a line that is no line of a table
     */
    static VariableTable of(Optional<Path> file) {
        List<Line> lines = new ArrayList<>();
        file.ifPresent(path -> {
            try {
                lines.addAll(parse("File of names " + path,
                    new String(RegularFile.read(path, MAX_BYTES), StandardCharsets.UTF_8)));
            } catch (IOException failure) {
                throw FileFault.unreadable("file of names " + path, failure);
            }
        });
        try (InputStream stream = VariableTable.class.getResourceAsStream(BUILT_IN)) {
            lines.addAll(parse(BUILT_IN, new String(stream.readAllBytes(), StandardCharsets.UTF_8)));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return new VariableTable(lines);
    }

    private static List<Line> parse(String title, String text) {
        List<Line> lines = new ArrayList<>();
        List<String> rows = text.lines().toList();
        for (int i = 0; i < rows.size(); i++) {
            String row = rows.get(i).strip();
            if (!row.isEmpty() && !row.startsWith("#")) {
                String[] columns = row.split("\\s+");
                boolean anyLevel = columns.length > 2 && columns[2].equals(ANY);
                if (columns.length < 4 || !columns[2].matches("[1-9]\\d{0,4}|[*-]")
                    || !NAME.matcher(columns[0].replaceFirst("\\*$", "")).matches()
                    || anyLevel != columns[0].endsWith(ANY)) {
                    throw new UserException(title + ", line " + (i + 1) + ", is '" + row + "', expected a short name, "
                        + "a unit, a level in hPa or -, and names in stores: q700 kg/kg 700 q specific_humidity");
                }
                lines.add(new Line(columns[0], columns[1], columns[2], List.of(columns).subList(3, columns.length)));
            }
        }
        return lines;
    }

    /**
     * The channel that a short name stands for. A name that is in no table is the store's own.
     *
     * @throws UserException if it has other characters than letters, digits, {@code _}, {@code .} and {@code -}
     */
    Channel channel(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new UserException("Variable '" + name + "' of --variables has other characters than letters, digits, "
                + "'_', '.' and '-'. Give it another name with --names.");
        }
        for (Line line : lines) {
            if (line.name.equals(name)) {
                return new Channel(name, unit(line), line.level.equals(NONE) ? OptionalInt.empty()
                    : OptionalInt.of(Integer.parseInt(line.level)), line.aliases);
            }
            if (line.level.equals(ANY)) {
                String stem = line.name.substring(0, line.name.length() - 1);
                Matcher matcher = Pattern.compile(Pattern.quote(stem) + "([1-9]\\d{0,4})").matcher(name);
                if (matcher.matches()) {
                    return new Channel(name, unit(line), OptionalInt.of(Integer.parseInt(matcher.group(1))),
                        line.aliases);
                }
            }
        }
        return new Channel(name, Optional.empty(), OptionalInt.empty(), List.of());
    }

    private static Optional<String> unit(Line line) {
        return line.unit.equals(NONE) ? Optional.empty() : Optional.of(line.unit);
    }
}
