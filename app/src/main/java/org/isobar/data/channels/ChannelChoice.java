package org.isobar.data.channels;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Which channels a model reads, by name and in this order: variables of the data, constant fields, the time. It
 * forecasts the first variables; the others are inputs only.
 *
 * @param variables     channels of the data; if empty, the model reads the first ones of each file, and nothing else
 * @param constants     fields that do not change with time
 * @param constantsFile the file that has them; empty for the first file of the training years
 * @param time          whether the model reads {@link TimeChannels}
 */
public record ChannelChoice(List<String> variables, List<String> constants, Optional<Path> constantsFile,
    boolean time) {
    /** The first channels of each file. */
    public static final ChannelChoice FIRST = new ChannelChoice(List.of(), List.of(), Optional.empty(), false);

    /** Whether channels are chosen by name. */
    public boolean isNamed() {
        return !variables.isEmpty();
    }

    /** Number of input channels that are no variables of the data. */
    public int inputOnly() {
        return constants.size() + (time ? TimeChannels.NAMES.size() : 0);
    }

    /** Names of all input channels; empty if they are not chosen by name. */
    public List<String> inputs() {
        List<String> names = new ArrayList<>(variables);
        names.addAll(constants);
        if (time) {
            names.addAll(TimeChannels.NAMES);
        }
        return List.copyOf(names);
    }
}
