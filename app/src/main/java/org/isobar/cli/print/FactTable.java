package org.isobar.cli.print;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

import org.isobar.fault.PlainText;
import org.isobar.fault.UserException;

/** Prints lines of a name and a value, and tables. Text of files is made printable by {@link PlainText}. */
public final class FactTable {
    private static final String LAYOUT = "%-16s  %s%n";

    private final PrintWriter out;

    public FactTable(PrintWriter out) {
        this.out = out;
    }

    /** A line {@code name  value}. If the value cannot be determined, the line says why. */
    public void line(String name, Supplier<String> value) {
        String text;
        try {
            text = value.get();
        } catch (UserException failure) {
            text = "unknown: " + failure.getMessage();
        }
        line(name, text);
    }

    /** A line {@code name  value}. */
    public void line(String name, String value) {
        out.printf(LAYOUT, name, PlainText.of(value));
        out.flush(); // the next value may take a while
    }

    /** Rows in columns that are as wide as their widest cell. */
    public void table(List<List<String>> cells) {
        List<List<String>> rows = cells.stream().map(row -> row.stream().map(PlainText::of).toList()).toList();
        int columns = rows.stream().mapToInt(List::size).max().orElse(0);
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.size(); i++) {
                line.append("  ").append(row.get(i)).repeat(" ", widths[i] - row.get(i).length());
            }
            out.println(line.toString().stripTrailing());
        }
    }

    /** A size of memory, such as "79.6 GiB". */
    public static String gibibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", bytes / 0x1p30);
    }

    /** A size of a file, such as "13.40 MB". */
    public static String bytes(long bytes) {
        return bytes < 1_000_000 ? bytes + " bytes" : String.format(Locale.ROOT, "%.2f MB", bytes / 1e6);
    }

    /** An empty line and a title. */
    public void heading(String text) {
        out.println();
        out.println(text);
    }
}
