package org.isobar.config;

import java.util.LinkedHashMap;
import java.util.Map;

import org.isobar.telemetry.PythonFormat;

/** What a run that ended was told, from the entries that it left. */
final class SavedSettings {
    private static final String ORIGIN = "saved";

    private SavedSettings() { }

    /**
     * Settings that yield the same entries. A value that a key has anyhow counts as not given, for entries do not say
     * whether it was; and the local batch size follows from the global one, whatever the number of ranks is now.
     */
    static Map<String, Setting> of(Map<String, String> entries) {
        Map<String, Setting> settings = new LinkedHashMap<>();
        entries.forEach((name, text) -> settings.put(name, new Setting(text, ORIGIN)));
        for (Key<?> key : Keys.ALL) {
            settings.computeIfPresent(key.name(), (_, _) -> isImplied(key, entries) ? null
                : new Setting(raw(key, entries.get(key.name())), ORIGIN));
        }
        return settings;
    }

    /** The data set to make is asked for by its keys, and entries list what is None only where that is given. */
    private static boolean isImplied(Key<?> key, Map<String, String> entries) {
        boolean asksByBeingGiven = Keys.SYNTHETIC.contains(key);
        boolean isDefault = key.absent().map(PythonFormat::str)
            .filter(text -> !text.equals(PythonFormat.str(null)) && text.equals(entries.get(key.name()))).isPresent();
        return key == Keys.LOCAL_BATCH_SIZE || isDefault && !asksByBeingGiven;
    }

    /** A text may look like a list; only what is no value as it stands is one. */
    private static Object raw(Key<?> key, String text) {
        boolean isScalar = key.type().reader().apply(text).isPresent();
        return isScalar ? text : YamlFile.value(text, key.name() + " " + text);
    }
}
