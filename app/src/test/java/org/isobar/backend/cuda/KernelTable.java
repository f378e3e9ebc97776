package org.isobar.backend.cuda;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What ptxas says of kernels, as the table of docs/kernels.md. */
final class KernelTable {
    private static final Pattern FUNCTION = Pattern.compile("Compiling entry function '(\\w+)' for");
    private static final Pattern FRAME = Pattern.compile(
        "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
    private static final Pattern USED = Pattern.compile("Used (\\d+) registers");
    private static final Pattern SHARED = Pattern.compile("(\\d+) bytes smem");

    private final Map<String, Usage> rows = new TreeMap<>();

    /**
     * What one kernel uses.
     *
     * @param registers of each thread
     * @param shared    bytes of static shared memory of each block
     * @param stack     bytes of local memory of each thread
     * @param spills    bytes stored to and loaded from local memory for want of registers
     */
    record Usage(int registers, int shared, int stack, int spills) {
        /** Whether it does without local memory. */
        boolean isInRegisters() {
            return stack == 0 && spills == 0;
        }
    }

    /** Adds a kernel by what the compiler's log says of it. */
    synchronized void add(KernelVariant variant, String log) {
        Usage usage = usages(log).get(variant.function());
        if (usage == null) {
            throw new AssertionError("ptxas says nothing of " + variant + ":\n" + log);
        }
        rows.put(name(variant), usage);
    }

    /** Usage by function. */
    static Map<String, Usage> usages(String log) {
        Map<String, Usage> usages = new TreeMap<>();
        String function = null;
        int stack = 0;
        int spills = 0;
        for (String line : log.split("\n")) {
            Matcher begin = FUNCTION.matcher(line);
            Matcher frame = FRAME.matcher(line);
            Matcher used = USED.matcher(line);
            if (begin.find()) {
                function = begin.group(1);
            } else if (frame.find()) {
                stack = Integer.parseInt(frame.group(1));
                spills = Integer.parseInt(frame.group(2)) + Integer.parseInt(frame.group(3));
            } else if (used.find() && function != null) {
                Matcher shared = SHARED.matcher(line);
                usages.put(function, new Usage(Integer.parseInt(used.group(1)),
                    shared.find() ? Integer.parseInt(shared.group(1)) : 0, stack, spills));
                function = null;
            }
        }
        return usages;
    }

    static String name(KernelVariant variant) {
        return variant.function() + (variant.defines().isEmpty() ? "" : " " + String.join(" ", variant.defines()));
    }

    /** Kernels that use local memory. */
    Collection<String> outsideRegisters() {
        return rows.entrySet().stream().filter(row -> !row.getValue().isInRegisters())
            .map(row -> row.getKey() + ": " + row.getValue()).toList();
    }

    /** One row a kernel, sorted by name. */
    List<String> markdown() {
        List<String> lines = new ArrayList<>(List.of(
            "| kernel | registers | shared, bytes | stack, bytes | spills, bytes |",
            "|---|---:|---:|---:|---:|"));
        rows.forEach((name, usage) -> lines.add("| `" + name + "` | " + usage.registers() + " | " + usage.shared()
            + " | " + usage.stack() + " | " + usage.spills() + " |"));
        return lines;
    }
}
