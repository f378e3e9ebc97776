package org.isobar.config;

import static org.isobar.config.keys.Keys.LAUNCH;
import static org.isobar.config.keys.Keys.RUN;
import static org.isobar.config.keys.Keys.TRAINING;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.yaml.YamlText;
import org.isobar.telemetry.PythonFormat;

/** The resolved configuration of a run as a file of one preset, which needs neither options nor other presets. */
final class ResolvedPreset {
    /** The local batch size follows from the global one, and the paths of the data begin with the data directory. */
    private static final Set<Key<?>> IMPLIED = Set.of(TRAINING.localBatchSize, RUN.dataDir);

    /** The run's directory is named after the layout if one of these is given. */
    private static final Set<Key<?>> LAYOUT =
        Set.of(LAUNCH.tensorParallel, LAUNCH.contextParallel, LAUNCH.parallelOrder);

    private ResolvedPreset() { }

    /**
     * The file's text. A run of its preset in as many processes has the same configuration.
     *
     * @param name    name of the preset
     * @param entries {@link RunConfig#entries}
     * @param output  where that run writes
     */
    static String yaml(String name, Map<String, String> entries, OutputConfig output) {
        Map<String, Object> preset = new LinkedHashMap<>();
        for (Key<?> key : Keys.ALL) {
            String text = entries.get(key.name());
            boolean implied = IMPLIED.contains(key) || SavedSettings.isDefault(key, text)
                && (LAYOUT.contains(key) ? !output.isOfLayout() : isReportedIfGiven(key));
            if (text != null && !implied) {
                put(preset, key.name(), value(key, text));
            }
        }
        return YamlText.of(Map.of(name, preset));
    }

    /** Whether a run says that the key has no effect, whatever its value, if it is given. */
    private static boolean isReportedIfGiven(Key<?> key) {
        return key.noEffects().stream().anyMatch(rule -> rule.value().isEmpty());
    }

    /** Keys with a dot stand in nested maps. */
    @SuppressWarnings("unchecked")
    private static void put(Map<String, Object> map, String name, Object value) {
        int dot = name.indexOf('.');
        if (dot < 0) {
            map.put(name, value);
        } else {
            Object nested = map.computeIfAbsent(name.substring(0, dot), _ -> new LinkedHashMap<String, Object>());
            put((Map<String, Object>) nested, name.substring(dot + 1), value);
        }
    }

    private static Object value(Key<?> key, String text) {
        Object typed = key.type().reader().apply(SavedSettings.raw(key, text)).orElseThrow();
        return plain(typed);
    }

    private static Object plain(Object typed) {
        return switch (typed) {
            case Optional<?> optional -> optional.isEmpty() ? null : plain(optional.get());
            case Double number -> BigDecimal.valueOf(number);
            case Number number -> number;
            case Boolean truth -> truth;
            case List<?> list -> list;
            default -> PythonFormat.str(typed);
        };
    }
}
