package org.isobar.config.keys;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.telemetry.PythonFormat;

/** The values given by a preset and by what overrides it, read as each key's type says. */
public final class Settings {
    private static final int MAX_SHOWN = 300;

    private final Path file;
    private final String preset;
    private final Map<String, Setting> settings;

    /**
     * Checks every key and every value.
     *
     * @throws UserException naming file, preset, key, value and what is expected
     */
    public Settings(Path file, String preset, Map<String, Setting> settings) {
        this.file = file;
        this.preset = preset;
        this.settings = settings;
        List<String> known = Keys.ALL.stream().map(Key::name).toList();
        settings.forEach((name, setting) -> {
            if (!known.contains(name)) {
                throw fail("there is no key '" + name + "' (" + setting.origin() + ")."
                    + SpellingSuggestion.hint(name, known));
            }
        });
        Keys.ALL.forEach(this::get);
    }

    /** The value of {@code key} in effect: the one that is given, else its default. */
    public <T> T get(Key<T> key) {
        Setting setting = settings.get(key.name());
        if (setting == null) {
            return key.absent().orElseThrow(() -> fail("the key '" + key.name() + "' is missing; give it "
                + key.type().expected() + ", or take it over from another preset with '<<: *base'."));
        }
        Optional<T> value = key.type().reader().apply(setting.raw());
        return value.orElseThrow(() -> fail(describe(key) + ", but it takes " + key.type().expected() + "."));
    }

    /** These settings, with {@code derived}, which follows from other keys, as the value of {@code key}. */
    public Settings with(Key<?> key, int derived) {
        Map<String, Setting> changed = new LinkedHashMap<>(settings);
        changed.put(key.name(), new Setting(Integer.toString(derived), "derived"));
        return new Settings(file, preset, changed);
    }

    /** Whether a preset, an option or the environment gives the key. */
    public boolean isGiven(Key<?> key) {
        return settings.containsKey(key.name());
    }

    /** Whether one of the keys is given. */
    public boolean isAnyGiven(List<Key<?>> keys) {
        return keys.stream().anyMatch(this::isGiven);
    }

    /** The key, its value and where that stands, as in {@code num_heads is '7' (line 12)}. */
    public String describe(Key<?> key) {
        Setting setting = settings.get(key.name());
        return setting == null
            ? key.name() + " is '" + PythonFormat.str(key.absent().orElseThrow()) + "' (its default)"
            : key.name() + " is '" + shown(setting.raw()) + "' (" + setting.origin() + ")";
    }

    /** The beginning of a value. */
    private static String shown(Object raw) {
        String text = raw.toString();
        return text.length() <= MAX_SHOWN ? text : text.substring(0, MAX_SHOWN) + "...";
    }

    /** The exception for a wrong setting, naming file and preset. */
    public UserException fail(String what) {
        return new UserException(file + ", preset '" + preset + "': " + what);
    }
}
