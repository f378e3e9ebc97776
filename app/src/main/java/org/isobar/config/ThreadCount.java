package org.isobar.config;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.config.keys.ValueType;
import org.isobar.fault.UserException;

/** The number of compute threads of the CPU. */
public final class ThreadCount {
    private static final String VARIABLE = "ISOBAR_THREADS";

    private ThreadCount() { }

    /**
     * The option's number, else that of ISOBAR_THREADS, which launchers set to each process's share of the cores; empty
     * if neither is given.
     *
     * @throws UserException if the option or the variable is not a whole number of at least 1
     */
    public static OptionalInt of(Optional<Integer> option, Map<String, String> environment) {
        option.filter(threads -> threads < 1).ifPresent(threads -> {
            throw new UserException("--threads=" + threads + " must be at least 1");
        });
        String given = environment.getOrDefault(VARIABLE, "");
        if (option.isPresent() || given.isBlank()) {
            return option.map(OptionalInt::of).orElseGet(OptionalInt::empty);
        }
        return OptionalInt.of(ValueType.count(1).reader().apply(given).orElseThrow(() -> new UserException(
            VARIABLE + " is '" + given + "', but it takes a whole number of threads, at least 1.")));
    }

    /** Sets ISOBAR_THREADS to an equal share of the cores for each of the processes, unless it is set. */
    public static void share(Map<String, String> environment, int processes) {
        if (environment.getOrDefault(VARIABLE, "").isBlank()) {
            environment.put(VARIABLE,
                String.valueOf(Math.max(1, Runtime.getRuntime().availableProcessors() / processes)));
        }
    }
}
