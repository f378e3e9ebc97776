package org.isobar.bench.report;

import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** Builds a Markdown table row by row. */
final class MarkdownTable {
    private static final String UNKNOWN = "not measured";

    private final StringBuilder text = new StringBuilder();

    MarkdownTable(String... columns) {
        row(columns);
        row(Collections.nCopies(columns.length, "---").toArray(String[]::new));
    }

    /** Adds a row. */
    void row(String... cells) {
        text.append("| ").append(String.join(" | ", List.of(cells).stream().map(MarkdownTable::cell).toList()))
            .append(" |\n");
    }

    private static String cell(String content) {
        return content.replace("|", "\\|").replace('\n', ' ');
    }

    /** Formats {@code value / unit}, or returns "not measured" if the value is null. */
    static String number(String format, Double value, double unit) {
        return value == null ? UNKNOWN : String.format(Locale.ROOT, format, value / unit);
    }

    @Override
    public String toString() {
        return text.append('\n').toString();
    }
}
