package org.isobar.config;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.telemetry.PythonFormat;

/** What differs between the entries of two configurations, but for keys that may. */
final class ConfigChanges {
    private ConfigChanges() { }

    /** A text for each such key. One that this program does not know may not differ. */
    static List<String> between(Map<String, String> earlier, Map<String, String> now) {
        Set<String> names = new LinkedHashSet<>();
        Keys.ALL.forEach(key -> names.add(key.name()));
        names.addAll(earlier.keySet());
        Keys.HARMLESS.forEach(key -> names.remove(key.name()));
        return names.stream()
            .filter(name -> !meaning(earlier, name).equals(meaning(now, name)))
            .map(name -> name + " is " + text(now, name) + ", was " + text(earlier, name))
            .toList();
    }

    /** The value in effect; none if the key must be given, or is unknown, and is absent. */
    private static Optional<String> meaning(Map<String, String> entries, String name) {
        return Optional.ofNullable(entries.get(name)).or(() -> Keys.ALL.stream()
            .filter(key -> key.name().equals(name)).findAny().flatMap(Key::absent).map(PythonFormat::str));
    }

    private static String text(Map<String, String> entries, String name) {
        return entries.getOrDefault(name, "not given");
    }
}
