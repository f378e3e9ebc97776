package org.isobar.data.channels;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;

/**
 * The channels of a file that are read.
 *
 * @param indices their places in the file, in the order in which they are read
 * @param names   their names; empty if the file has none
 * @param stored  number of channels in the file
 */
public record ChosenChannels(int[] indices, List<String> names, int stored) {
    private static final int MOST_LISTED = 100;

    /** All channels, in the order of the file. */
    public static ChosenChannels all(List<String> names, int stored) {
        return new ChosenChannels(IntStream.range(0, stored).toArray(), names, stored);
    }

    /**
     * Finds channels by name.
     *
     * @param chosen names of the channels to read
     * @param own    names of all channels of the file; empty if it has none
     * @throws UserException if the file has no names, a name is missing, or the file has it twice
     */
    public static ChosenChannels of(Path file, List<String> chosen, List<String> own, int stored) {
        if (own.isEmpty()) {
            throw new UserException("Data file " + file + " does not name its " + stored + " channels, so none can be "
                + "read by name. Write their names to a data set 'channel', or remove channels from the preset.");
        }
        for (String name : chosen) {
            if (!own.contains(name)) {
                throw new UserException("Data file " + file + " has no channel " + name + ". It has: "
                    + own.stream().limit(MOST_LISTED).collect(Collectors.joining(", "))
                    + (own.size() > MOST_LISTED ? " and so on" : "")
                    + ". Change channels in the preset, or use other data.");
            }
            if (own.indexOf(name) != own.lastIndexOf(name)) {
                throw new UserException("Data file " + file + " has two channels " + name + ", number "
                    + own.indexOf(name) + " and number " + own.lastIndexOf(name) + ". Give them different names.");
            }
        }
        return new ChosenChannels(chosen.stream().mapToInt(own::indexOf).toArray(), chosen, stored);
    }

    /** Number of channels that are read. */
    public int count() {
        return indices.length;
    }

    /**
     * The first channel that has another name than in other data, as text.
     *
     * @param others names of the other data's first channels; empty if they have none
     * @param other  what the other data are
     * @return empty if there is none, or one has no names
     */
    public Optional<String> renamed(List<String> others, String other) {
        return IntStream.range(0, Math.min(names.size(), others.size()))
            .filter(c -> !names.get(c).equals(others.get(c)))
            .mapToObj(c -> names.get(c) + " as channel " + c + ", where " + other + " has " + others.get(c))
            .findFirst();
    }

    /** A channel's place in the file, with its name if it has one. */
    public String text(int channel) {
        return "channel " + indices[channel] + (names.isEmpty() ? "" : " (" + names.get(channel) + ")");
    }
}
