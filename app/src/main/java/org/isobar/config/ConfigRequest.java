package org.isobar.config;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

import org.isobar.config.keys.Setting;
import org.isobar.config.yaml.YamlFile;
import org.isobar.fault.UserException;

/**
 * What to load: a preset of a file, and what is laid over it.
 *
 * @param overrides settings by key; later ones replace earlier ones
 * @param environment the environment variables; DATADIR, LOGDIR, ISOBAR_THREADS, NVIDIA_TF32_OVERRIDE and the ranks are
 * looked at
 */
public record ConfigRequest(
    Path yamlFile,
    String preset,
    Map<String, Setting> overrides,
    Map<String, String> environment) {

    /** A preset as it stands. */
    public ConfigRequest(Path yamlFile, String preset, Map<String, String> environment) {
        this(yamlFile, preset, Map.of(), environment);
    }

    /** The same with a key's value replaced, as command-line option {@code --KEY} does. */
    public ConfigRequest with(String key, String value) {
        return with(key, new Setting(value, "--" + key));
    }

    /**
     * The same with one {@code KEY=VALUE}, as {@code --set} takes it; the value as it would stand in the file.
     *
     * @throws UserException if it is none
     */
    public ConfigRequest set(String assignment) {
        String origin = "--set " + assignment;
        String[] sides = assignment.split("=", 2);
        if (sides.length != 2) {
            throw new UserException(origin + ": expected KEY=VALUE, such as --set depth=6.");
        }
        return with(sides[0].strip(), new Setting(YamlFile.value(sides[1], origin), "--set"));
    }

    private ConfigRequest with(String key, Setting setting) {
        Map<String, Setting> overlaid = new LinkedHashMap<>(overrides);
        overlaid.put(Objects.requireNonNull(key), setting);
        return new ConfigRequest(yamlFile, preset, overlaid, environment);
    }
}
