package org.isobar.config;

import static org.isobar.config.keys.Keys.DATA;
import static org.isobar.config.keys.Keys.RUN;
import static org.isobar.config.keys.Keys.TRAINING;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.config.keys.Key;
import org.isobar.config.keys.Setting;

/**
 * Replaces the beginning of the paths of data and logs. The tutorial's presets say {@code /data} and {@code /logs},
 * where its container mounts DATADIR and LOGDIR; {@code demo} says {@code ./data} and {@code ./logs}. The environment's
 * DATADIR and LOGDIR, or {@code --data_dir}, replace these directories. {@code --expdir} replaces the whole path.
 */
final class PathRoots {
    private static final List<Path> DATA_ROOTS = List.of(Path.of("/data"), Path.of("data"));
    private static final List<Path> LOG_ROOTS = List.of(Path.of("/logs"), Path.of("logs"));

    private PathRoots() { }

    /** The preset's settings with the environment's directories, overridden by the command line's settings. */
    static Map<String, Setting> apply(Map<String, Setting> preset, ConfigRequest request) {
        Map<String, Setting> settings = new LinkedHashMap<>(preset);
        variable(request, "LOGDIR").ifPresent(dir -> reroot(settings, TRAINING.expdir,
            given(settings, TRAINING.expdir), LOG_ROOTS, dir));
        return overlay(settings, DATA_ROOTS, request);
    }

    /**
     * The settings that an earlier run saved, overridden likewise. Their data paths begin with that run's
     * {@code data_dir}, if it had one. Its {@code expdir} is not changed.
     */
    static Map<String, Setting> move(Map<String, Setting> saved, ConfigRequest request) {
        return overlay(saved, dataDirectory(saved).map(List::of).orElse(DATA_ROOTS), request);
    }

    private static Map<String, Setting> overlay(Map<String, Setting> base, List<Path> roots, ConfigRequest request) {
        Map<String, Setting> settings = new LinkedHashMap<>(base);
        variable(request, "DATADIR").ifPresent(dir -> settings.put(RUN.dataDir.name(), dir));
        settings.putAll(request.overrides());
        if (dataDirectory(settings).isPresent()) {
            Setting dir = settings.get(RUN.dataDir.name());
            DATA.paths().forEach(key -> reroot(settings, key, given(settings, key), roots, dir));
            reroot(settings, DATA.constantsPath, given(settings, DATA.constantsPath).flatMap(path -> path), roots, dir);
        }
        return settings;
    }

    private static Optional<Path> dataDirectory(Map<String, Setting> settings) {
        return given(settings, RUN.dataDir).flatMap(path -> path);
    }

    private static <T> Optional<T> given(Map<String, Setting> settings, Key<T> key) {
        Setting setting = settings.get(key.name());
        return setting == null ? key.absent() : key.type().reader().apply(setting.raw());
    }

    private static Optional<Setting> variable(ConfigRequest request, String name) {
        return Optional.ofNullable(request.environment().get(name))
            .filter(value -> !value.isBlank())
            .map(value -> new Setting(value, name));
    }

    private static void reroot(Map<String, Setting> settings, Key<?> key, Optional<Path> given, List<Path> roots,
                               Setting root) {
        given.map(Path::normalize)
            .flatMap(path -> roots.stream().map(Path::normalize)
                .filter(path::startsWith)
                .map(old -> Path.of((String) root.raw()).resolve(old.relativize(path)))
                .findFirst())
            .ifPresent(path -> settings.put(key.name(), new Setting(path.toString(), root.origin())));
    }
}
