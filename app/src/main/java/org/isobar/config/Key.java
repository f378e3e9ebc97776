package org.isobar.config;

import java.util.Optional;

/**
 * One key of a preset.
 *
 * @param absent the value where the key is not given; empty where it must be
 */
record Key<T>(String name, ValueType<T> type, Optional<T> absent) {
    static <T> Key<T> required(String name, ValueType<T> type) {
        return new Key<>(name, type, Optional.empty());
    }

    static <T> Key<T> of(String name, ValueType<T> type, T absent) {
        return new Key<>(name, type, Optional.of(absent));
    }

    static <T> Key<Optional<T>> optional(String name, ValueType<T> type) {
        return of(name, type.optional(), Optional.empty());
    }
}
