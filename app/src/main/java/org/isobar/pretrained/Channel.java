package org.isobar.pretrained;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.Era5Variable;

/**
 * A variable that a model reads.
 *
 * @param name unique among the model's channels: letters, digits, {@code _}, {@code .} and {@code -}
 * @param unit of the values in the data, as UDUNITS reads it; empty if unknown
 */
public record Channel(String name, String unit) {

    /** Channels with these names; those after the units have none. */
    static List<Channel> of(List<String> names, List<String> units) {
        return IntStream.range(0, names.size())
            .mapToObj(c -> new Channel(names.get(c), c < units.size() ? units.get(c) : "")).toList();
    }

    /**
     * The first {@code count} channels of the tutorial's data. Further channels have no known names; theirs are unique
     * by position, such as {@code channel_20}.
     */
    static List<Channel> ofTutorial(int count) {
        List<Channel> channels = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            if (i < Era5Variable.COUNT) {
                Era5Variable variable = Era5Variable.values()[i];
                channels.add(new Channel(variable.label(), variable.unit()));
            } else {
                channels.add(new Channel("channel_" + i, ""));
            }
        }
        return List.copyOf(channels);
    }
}
