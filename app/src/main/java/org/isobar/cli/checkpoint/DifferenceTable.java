package org.isobar.cli.checkpoint;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

import org.isobar.checkpoint.TensorDifference;
import org.isobar.cli.print.FactTable;

/** Prints a {@link TensorDifference} of A and B: tables of what differs, and a line that sums it up. */
final class DifferenceTable {
    private static final String ABSENT = "(none)";

    private final TensorDifference difference;
    private final PrintWriter out;
    private final FactTable facts;

    DifferenceTable(TensorDifference difference, PrintWriter out) {
        this.difference = difference;
        this.out = out;
        facts = new FactTable(out);
    }

    /** Prints the tensors that differ. */
    void print() {
        if (!difference.changed().isEmpty()) {
            List<List<String>> rows = new ArrayList<>(
                List.of(List.of("tensor", "shape", "elements that differ", "max |A - B|", "||A - B|| / ||A||")));
            difference.changed().forEach(change -> rows.add(List.of(change.name(), change.shape().toString(),
                change.differing() + " of " + change.elements(), number(change.largest()),
                number(change.relativeL2()))));
            table("Tensors that differ", rows);
        }
        if (!difference.misshaped().isEmpty()) {
            List<List<String>> rows = new ArrayList<>(List.of(List.of("tensor", "shape in A", "shape in B")));
            difference.misshaped().forEach(tensor -> rows.add(List.of(tensor.name(), tensor.first().toString(),
                tensor.second().toString())));
            table("Tensors whose shapes differ", rows);
        }
        names("Tensors only in A", difference.onlyFirst());
        names("Tensors only in B", difference.onlySecond());
    }

    /** Prints which entries of two maps differ, if any do. */
    static void entries(String title, Map<String, String> first, Map<String, String> second, PrintWriter out) {
        Set<String> keys = new TreeSet<>(first.keySet());
        keys.addAll(second.keySet());
        keys.removeIf(key -> Objects.equals(first.get(key), second.get(key)));
        if (!keys.isEmpty()) {
            List<List<String>> rows = new ArrayList<>(List.of(List.of("entry", "A", "B")));
            keys.forEach(key -> rows.add(
                List.of(key, first.getOrDefault(key, ABSENT), second.getOrDefault(key, ABSENT))));
            FactTable facts = new FactTable(out);
            facts.heading(title + " that differs");
            facts.table(rows);
        }
    }

    /** One line that says whether anything differs and how much. */
    String summary() {
        if (difference.isNone()) {
            return "Bit-identical: all tensors, " + difference.compared() + " of them.";
        }
        int uncompared = difference.misshaped().size() + difference.onlyFirst().size()
            + difference.onlySecond().size();
        return "Different: " + difference.changed().size() + " of " + difference.compared()
            + " tensors that can be compared" + (uncompared == 0 ? "." : ", and " + uncompared + " that cannot.");
    }

    private void names(String title, List<String> names) {
        if (!names.isEmpty()) {
            table(title, names.stream().map(List::of).toList());
        }
    }

    private void table(String title, List<List<String>> rows) {
        facts.heading(title);
        facts.table(rows);
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.3e", value);
    }
}
