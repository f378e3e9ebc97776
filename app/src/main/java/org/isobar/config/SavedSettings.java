package org.isobar.config;

import static org.isobar.config.keys.Keys.SYNTHETIC;
import static org.isobar.config.keys.Keys.TRAINING;

import java.util.LinkedHashMap;
import java.util.Map;

import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.keys.Setting;
import org.isobar.config.yaml.YamlFile;
import org.isobar.telemetry.PythonFormat;

/** Turns the configuration entries that a run saved into settings. */
final class SavedSettings {
    private static final String ORIGIN = "saved";

    private SavedSettings() { }

    /**
     * Settings that yield the same entries. Entries do not say whether a value was given, so a default counts as not
     * given. The local batch size is left out: it follows from the global one and the present number of ranks.
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

    /**
     * Whether the key's value follows without a setting. Giving a key of {@link org.isobar.config.keys.SyntheticKeys}
     * asks for a data set, so these stay given; and a default of None is listed like a given one.
     */
    private static boolean isImplied(Key<?> key, Map<String, String> entries) {
        boolean asksByBeingGiven = SYNTHETIC.keys().contains(key);
        return key == TRAINING.localBatchSize || isDefault(key, entries.get(key.name())) && !asksByBeingGiven;
    }

    /** Whether an entry of the key is its default. None counts as given. */
    static boolean isDefault(Key<?> key, String entry) {
        return key.absent().map(PythonFormat::str)
            .filter(text -> !text.equals(PythonFormat.str(null)) && text.equals(entry)).isPresent();
    }

    /** The text itself if the key's type accepts it, else the YAML value that it spells, such as a list. */
    static Object raw(Key<?> key, String text) {
        boolean isScalar = key.type().reader().apply(text).isPresent();
        return isScalar ? text : YamlFile.value(text, key.name() + " " + text);
    }
}
