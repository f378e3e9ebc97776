package org.isobar.config;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.isobar.telemetry.PythonFormat;

/** A preset with everything laid over it, by key; a value is read as its key's type says. */
final class Settings {
    private final Path file;
    private final String preset;
    private final Map<String, Setting> settings;

    /**
     * Checks every key and every value.
     *
     * @throws UserException naming file, preset, key, value and what is expected
     */
    Settings(Path file, String preset, Map<String, Setting> settings) {
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

    <T> T get(Key<T> key) {
        Setting setting = settings.get(key.name());
        if (setting == null) {
            return key.absent().orElseThrow(() -> fail("the key '" + key.name() + "' is missing; give it "
                + key.type().expected() + ", or take it over from another preset with '<<: *base'."));
        }
        Optional<T> value = key.type().reader().apply(setting.raw());
        return value.orElseThrow(() -> fail(describe(key) + ", but it takes " + key.type().expected() + "."));
    }

    /** The same with a value that follows from others. */
    Settings with(Key<?> key, int derived) {
        Map<String, Setting> changed = new LinkedHashMap<>(settings);
        changed.put(key.name(), new Setting(Integer.toString(derived), "derived"));
        return new Settings(file, preset, changed);
    }

    boolean isGiven(Key<?> key) {
        return settings.containsKey(key.name());
    }

    boolean isAnyGiven(List<Key<?>> keys) {
        return keys.stream().anyMatch(this::isGiven);
    }

    /** {@code num_heads is '7' (line 12)}. */
    String describe(Key<?> key) {
        Setting setting = settings.get(key.name());
        return setting == null
            ? key.name() + " is '" + PythonFormat.str(key.absent().orElseThrow()) + "' (where it is not given)"
            : key.name() + " is '" + setting.raw() + "' (" + setting.origin() + ")";
    }

    UserException fail(String what) {
        return new UserException(file + ", preset '" + preset + "': " + what);
    }
}
