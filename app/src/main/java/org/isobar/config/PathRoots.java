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
final class PathRoots {
    private static final List<Path> DATA = List.of(Path.of("/data"), Path.of("data"));
    private static final List<Path> LOGS = List.of(Path.of("/logs"), Path.of("logs"));

    private PathRoots() { }

    /** The preset's settings under the environment's roots, overlaid with the command line's. */
    static Map<String, Setting> apply(Map<String, Setting> preset, ConfigRequest request) {
        Map<String, Setting> settings = new LinkedHashMap<>(preset);
        variable(request, "LOGDIR").ifPresent(dir -> reroot(settings, Keys.EXPDIR, LOGS, dir));
        return overlay(settings, DATA, request);
    }

    /** The settings of an earlier run, which were put under roots then, overlaid likewise; its logs stay. */
    static Map<String, Setting> move(Map<String, Setting> saved, ConfigRequest request) {
        return overlay(saved, dataDirectory(saved).map(List::of).orElse(DATA), request);
    }

    private static Map<String, Setting> overlay(Map<String, Setting> under, List<Path> roots, ConfigRequest request) {
        Map<String, Setting> settings = new LinkedHashMap<>(under);
        variable(request, "DATADIR").ifPresent(dir -> settings.put(Keys.DATA_DIR.name(), dir));
        settings.putAll(request.overrides());
        if (dataDirectory(settings).isPresent()) {
            Setting dir = settings.get(Keys.DATA_DIR.name());
            Keys.DATA_PATHS.forEach(key -> reroot(settings, key, roots, dir));
        }
        return settings;
    }

    private static Optional<Path> dataDirectory(Map<String, Setting> settings) {
        return Optional.ofNullable(settings.get(Keys.DATA_DIR.name()))
            .flatMap(dir -> Keys.DATA_DIR.type().reader().apply(dir.raw()).flatMap(path -> path));
    }

    private static Optional<Setting> variable(ConfigRequest request, String name) {
        return Optional.ofNullable(request.environment().get(name))
            .filter(value -> !value.isBlank())
            .map(value -> new Setting(value, name));
    }

    private static void reroot(Map<String, Setting> settings, Key<Path> key, List<Path> roots, Setting root) {
        Setting setting = settings.get(key.name());
        Optional<Path> given = setting == null ? key.absent() : key.type().reader().apply(setting.raw());
        given.map(Path::normalize)
            .flatMap(path -> roots.stream().map(Path::normalize)
                .filter(path::startsWith)
                .map(old -> Path.of((String) root.raw()).resolve(old.relativize(path)))
                .findFirst())
            .ifPresent(path -> settings.put(key.name(), new Setting(path.toString(), root.origin())));
    }
}
