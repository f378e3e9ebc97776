package org.isobar.config;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.telemetry.PythonFormat;

/** Compares the entries of two configurations, for a run that resumes from a checkpoint. */
final class ConfigChanges {
    private ConfigChanges() { }

    /** A text for each key that differs, known or unknown, except for known keys that may change on resume. */
    static List<String> between(Map<String, String> earlier, Map<String, String> now) {
        Set<String> names = new LinkedHashSet<>();
        Keys.ALL.forEach(key -> names.add(key.name()));
        names.addAll(earlier.keySet());
        Keys.ALL.stream().filter(key -> !key.fixed()).forEach(key -> names.remove(key.name()));
        return names.stream()
            .filter(name -> !effective(earlier, name).equals(effective(now, name)))
            .map(name -> name + " is " + text(now, name) + ", was " + text(earlier, name))
            .toList();
    }

    /** The value in effect: the entry or the key's default; empty if there is neither. */
    private static Optional<String> effective(Map<String, String> entries, String name) {
        return Optional.ofNullable(entries.get(name)).or(() -> Keys.ALL.stream()
            .filter(key -> key.name().equals(name)).findAny().flatMap(Key::absent).map(PythonFormat::str));
    }

    private static String text(Map<String, String> entries, String name) {
        return entries.getOrDefault(name, "not given");
    }
}
