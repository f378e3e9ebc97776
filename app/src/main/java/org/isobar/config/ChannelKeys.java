package org.isobar.config;

import static org.isobar.config.keys.Keys.DATA;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.config.keys.Key;
import org.isobar.config.keys.Settings;
import org.isobar.data.channels.ChannelChoice;
import org.isobar.data.channels.TimeChannels;

/** The keys that choose a model's channels by name. */
final class ChannelKeys {
    private ChannelKeys() { }

    /**
     * These settings, with {@code n_in_channels} and {@code n_out_channels} as they follow from {@code channels}.
     *
     * @throws org.isobar.fault.UserException if the keys contradict each other
     */
    static Settings derive(Settings given) {
        Optional<List<String>> channels = given.get(DATA.channels);
        if (channels.isEmpty()) {
            for (Key<Optional<List<String>>> key : List.of(DATA.outChannels, DATA.constants)) {
                if (given.get(key).isPresent()) {
                    throw needsChannels(given, key);
                }
            }
            if (given.get(DATA.timeChannels).orElse(false)) {
                throw needsChannels(given, DATA.timeChannels);
            }
            return given;
        }
        List<String> forecast = given.get(DATA.outChannels).orElse(channels.get());
        if (forecast.size() > channels.get().size()
            || !forecast.equals(channels.get().subList(0, forecast.size()))) {
            throw given.fail(given.describe(DATA.outChannels) + ", but " + given.describe(DATA.channels)
                + ", and a model forecasts the first of them; put these first in channels, in the same order.");
        }
        ChannelChoice choice = of(given);
        checkDistinct(given, choice);
        return given.with(DATA.nInChannels, choice.inputs().size()).with(DATA.nOutChannels, forecast.size());
    }

    private static RuntimeException needsChannels(Settings given, Key<?> key) {
        return given.fail(given.describe(key) + ", but the preset has no channels: list the variables by name in "
            + "channels, too.");
    }

    private static void checkDistinct(Settings given, ChannelChoice choice) {
        Set<String> names = new HashSet<>();
        Stream.concat(choice.inputs().stream(), choice.time() ? Stream.empty() : TimeChannels.NAMES.stream())
            .filter(name -> !names.add(name)).findFirst().ifPresent(name -> {
                throw given.fail(given.describe(DATA.channels) + " and " + given.describe(DATA.constants)
                    + ": there are two input channels " + name + "; name each once, and those of the time with "
                    + "time_channels alone.");
            });
    }

    /** The channels that the settings choose. */
    static ChannelChoice of(Settings given) {
        Optional<Path> file = given.get(DATA.constantsPath);
        return given.get(DATA.channels).map(channels -> new ChannelChoice(channels,
            given.get(DATA.constants).orElse(List.of()), file, given.get(DATA.timeChannels).orElse(false)))
            .orElse(ChannelChoice.FIRST);
    }
}
