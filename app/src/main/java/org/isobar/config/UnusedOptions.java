package org.isobar.config;

import static org.isobar.config.keys.Keys.DATA;
import static org.isobar.config.keys.Keys.RUN;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.config.keys.NoEffect;
import org.isobar.config.keys.NoEffect.Where;
import org.isobar.config.keys.Settings;
import org.isobar.os.HostMachine;
import org.isobar.telemetry.PythonFormat;

/**
 * Options that were given but change nothing in this run, each with the reason. The log names them.
 *
 * @param anywhere those without effect on any device
 * @param onCpu those without effect on the CPU only
 * @param onGpu those without effect on a GPU only
 */
public record UnusedOptions(List<String> anywhere, List<String> onCpu, List<String> onGpu) {

    static UnusedOptions of(Settings settings, int worldSize) {
        List<String> anywhere = new ArrayList<>(list(settings,
            worldSize == 1 ? EnumSet.of(Where.ANYWHERE, Where.IN_ONE_PROCESS) : EnumSet.of(Where.ANYWHERE)));
        settings.get(RUN.dataDir)
            .filter(dir -> Stream.concat(DATA.paths().stream().map(settings::get),
                settings.get(DATA.constantsPath).stream()).noneMatch(path -> path.startsWith(dir)))
            .ifPresent(_ -> anywhere.add("data_dir (no path of this preset starts with /data or ./data)"));
        return new UnusedOptions(anywhere, list(settings, HostMachine.multipliesBf16() ? EnumSet.of(Where.ON_CPU)
            : EnumSet.of(Where.ON_CPU, Where.ON_CPU_WITHOUT_BF16)), list(settings, EnumSet.of(Where.ON_GPU)));
    }

    /** The sentence that names the options without effect on {@code backend}, if there are any. */
    public Optional<String> sentence(Backend backend) {
        boolean gpu = backend == Backend.CUDA;
        List<String> unused = new ArrayList<>(gpu ? onGpu : onCpu);
        unused.addAll(anywhere);
        return unused.isEmpty() ? Optional.empty() : Optional.of("Without effect on "
            + (gpu ? "a GPU" : "the CPU") + ": " + String.join(", ", unused) + ".");
    }

    /** The options that have no effect in one of {@code places}, such as "enable_jit (there are no kernels ...)". */
    private static List<String> list(Settings settings, Set<Where> places) {
        List<String> unused = new ArrayList<>();
        for (Key<?> key : Keys.ALL) {
            key.noEffects().stream().filter(rule -> places.contains(rule.where()) && applies(rule, key, settings))
                .forEach(rule -> unused.add(key.name() + value(rule) + " (" + rule.reason() + ")"));
        }
        return unused;
    }

    private static boolean applies(NoEffect rule, Key<?> key, Settings settings) {
        return rule.value().isEmpty() ? settings.isGiven(key)
            : rule.value().get().equals(settings.get(key));
    }

    /** The value, where others have an effect and the key's name does not say which one is meant. */
    private static String value(NoEffect rule) {
        return rule.value().filter(value -> !(value instanceof Boolean))
            .map(value -> " " + PythonFormat.str(value)).orElse("");
    }
}
