package org.isobar.config;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import org.isobar.config.keys.ValueType;
import org.isobar.fault.UserException;

/** How many threads are to compute. */
public final class ThreadCount {
    private static final String VARIABLE = "ISOBAR_THREADS";

    private ThreadCount() { }

    /**
     * The option's number, or else that of ISOBAR_THREADS, which is what a launcher of several processes leaves to
     * each; absent where neither says anything.
     *
     * @throws UserException if the variable is not a whole number of at least 1
     */
    public static OptionalInt of(Optional<Integer> option, Map<String, String> environment) {
        String given = environment.getOrDefault(VARIABLE, "");
        if (option.isPresent() || given.isEmpty()) {
            return option.map(OptionalInt::of).orElseGet(OptionalInt::empty);
        }
        return OptionalInt.of(ValueType.count(1).reader().apply(given).orElseThrow(() -> new UserException(
            VARIABLE + " is '" + given + "', but it is a number of threads: a whole number of at least 1.")));
    }
}
