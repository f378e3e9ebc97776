package org.isobar.backend.cuda;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a kernel uses, as ptxas says.
 *
 * @param registers of each thread
 * @param shared    bytes of static shared memory of each block
 * @param stack     bytes of local memory of each thread, with those of functions that it calls
 * @param spills    bytes stored to and loaded from local memory for want of registers
 */
record KernelUsage(int registers, int shared, int stack, int spills) {
    private static final Pattern FUNCTION = Pattern.compile("Compiling entry function '(\\w+)' for");
    private static final Pattern FRAME = Pattern.compile(
        "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
    private static final Pattern USED = Pattern.compile("Used (\\d+) registers");
    private static final Pattern STACK = Pattern.compile("(\\d+) bytes cumulative stack size");
    private static final Pattern SHARED = Pattern.compile("(\\d+) bytes smem");

    /** Bytes of local memory that come and go. */
    int local() {
        return stack + spills;
    }

    /** Usage by kernel, from the log of one compilation. */
    static Map<String, KernelUsage> of(String log) {
        Map<String, KernelUsage> usages = new TreeMap<>();
        String function = null; // frames that come after a kernel's "Used" are of functions that it calls
        int stack = 0;
        int spills = 0;
        for (String line : log.split("\n")) {
            Matcher begin = FUNCTION.matcher(line);
            Matcher frame = FRAME.matcher(line);
            Matcher used = USED.matcher(line);
            if (begin.find()) {
                function = begin.group(1);
            } else if (function != null && frame.find()) {
                stack = Integer.parseInt(frame.group(1));
                spills = Integer.parseInt(frame.group(2)) + Integer.parseInt(frame.group(3));
            } else if (function != null && used.find()) {
                usages.put(function, new KernelUsage(Integer.parseInt(used.group(1)), number(SHARED, line),
                    Math.max(stack, number(STACK, line)), spills));
                function = null;
            }
        }
        return usages;
    }

    private static int number(Pattern pattern, String line) {
        Matcher matcher = pattern.matcher(line);
        return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
    }
}
