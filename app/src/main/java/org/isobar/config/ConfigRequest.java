package org.isobar.config;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

import org.isobar.config.keys.Setting;
import org.isobar.config.yaml.YamlFile;
import org.isobar.fault.UserException;

/**
 * A preset of a file, and the settings that override it.
 *
 * @param overrides settings by key; later ones replace earlier ones
 * @param environment the environment variables, of which DATADIR, LOGDIR, ISOBAR_THREADS, NVIDIA_TF32_OVERRIDE and
 * those
 *     of the rank are read
 */
public record ConfigRequest(
    Path yamlFile,
    String preset,
    Map<String, Setting> overrides,
    Map<String, String> environment) {

    /** A preset without overrides. */
    public ConfigRequest(Path yamlFile, String preset, Map<String, String> environment) {
        this(yamlFile, preset, Map.of(), environment);
    }

    /** This request with {@code value} for {@code key}, as command-line option {@code --KEY} gives it. */
    public ConfigRequest with(String key, String value) {
        return with(key, new Setting(value, "--" + key));
    }

    /**
     * This request with a {@code KEY=VALUE} of {@code --set}. The value is written as in the preset file.
     *
     * @throws UserException if {@code assignment} is not of this form
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
        Map<String, Setting> overridden = new LinkedHashMap<>(overrides);
        overridden.put(Objects.requireNonNull(key), setting);
        return new ConfigRequest(yamlFile, preset, overridden, environment);
    }
}
