package org.isobar.config;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Where data and logs really lie. The tutorial's presets say {@code /data} and {@code /logs}, into which its container
 * mounts DATADIR and LOGDIR; {@code demo} says {@code ./data} and {@code ./logs}. The environment's DATADIR and LOGDIR,
 * or {@code --data_dir}, put another directory in that place; {@code --expdir} replaces the key as a whole.
 */
final class Roots {
    private Roots() { }

    /** The preset's settings under the environment's roots, overlaid with the command line's. */
    static Map<String, Setting> apply(Map<String, Setting> preset, ConfigRequest request) {
        Map<String, Setting> settings = new LinkedHashMap<>(preset);
        variable(request, "DATADIR").ifPresent(dir -> settings.put(Keys.DATA_DIR.name(), dir));
        variable(request, "LOGDIR").ifPresent(dir -> reroot(settings, Keys.EXPDIR, "logs", dir));
        settings.putAll(request.overrides());
        Optional.ofNullable(settings.get(Keys.DATA_DIR.name()))
            .filter(dir -> Keys.DATA_DIR.type().reader().apply(dir.raw()).flatMap(path -> path).isPresent())
            .ifPresent(dir -> Keys.DATA_PATHS.forEach(key -> reroot(settings, key, "data", dir)));
        return settings;
    }

    private static Optional<Setting> variable(ConfigRequest request, String name) {
        return Optional.ofNullable(request.environment().get(name))
            .filter(value -> !value.isBlank())
            .map(value -> new Setting(value, name));
    }

    private static void reroot(Map<String, Setting> settings, Key<Path> key, String prefix, Setting root) {
        Setting setting = settings.get(key.name());
        Optional<Path> given = setting == null ? key.absent() : key.type().reader().apply(setting.raw());
        given.map(Path::normalize)
            .flatMap(path -> List.of(Path.of("/", prefix), Path.of(prefix)).stream()
                .filter(path::startsWith)
                .map(old -> Path.of((String) root.raw()).resolve(old.relativize(path)))
                .findFirst())
            .ifPresent(path -> settings.put(key.name(), new Setting(path.toString(), root.origin())));
    }
}
