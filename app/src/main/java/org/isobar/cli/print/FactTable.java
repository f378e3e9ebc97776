package org.isobar.cli.print;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

import org.isobar.fault.UserException;

/** Prints what is known, names on the left. */
public final class FactTable {
    private static final String LAYOUT = "%-16s  %s%n";

    private final PrintWriter out;

    public FactTable(PrintWriter out) {
        this.out = out;
    }

    /** A line {@code name  value}; what cannot be found out says why. */
    public void line(String name, Supplier<String> value) {
        String text;
        try {
            text = value.get();
        } catch (UserException unknown) {
            text = "not known: " + unknown.getMessage();
        }
        line(name, text);
    }

    /** A line {@code name  value}. */
    public void line(String name, String value) {
        out.printf(LAYOUT, name, value);
        out.flush(); // what is asked next may take a while
    }

    /** Lines without names, in columns as wide as their widest cell. */
    public void table(List<List<String>> rows) {
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

    /** A size of memory: "79.6 GiB". */
    public static String gibibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", bytes / 0x1p30);
    }

    /** A size of files: "13.40 MB". */
    public static String bytes(long bytes) {
        return bytes < 1_000_000 ? bytes + " bytes" : String.format(Locale.ROOT, "%.2f MB", bytes / 1e6);
    }

    /** A line by itself, after an empty one. */
    public void heading(String text) {
        out.println();
        out.println(text);
    }
}
