package org.isobar.data.convert;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

import org.isobar.data.source.ArrayStore;
import org.isobar.data.source.StoredArray;
import org.isobar.fault.UserException;

/** Finds the channels that are asked for in stores. */
final class Catalog {
    /** Attribute of an array that is a channel of a file of channels; its name is the channel's. */
    private static final String CHANNEL = "channel";
    private static final int MOST_SHOWN = 40;

    private final List<ArrayStore> stores;
    private final Map<StoredArray, Optional<GriddedArray>> known = new IdentityHashMap<>();

    Catalog(List<ArrayStore> stores) {
        this.stores = stores;
    }

    /**
     * The sources of channels, in their order.
     *
     * @throws UserException if one is nowhere, is found under two names in one store, or has other units than
     *     expected
     */
    List<ChannelSource> find(List<VariableTable.Channel> channels) {
        List<ChannelSource> found = new ArrayList<>();
        List<String> absent = new ArrayList<>();
        for (VariableTable.Channel channel : channels) {
            List<ChannelSource.Segment> segments = segments(channel);
            if (segments.isEmpty()) {
                absent.add(channel.name());
            } else {
                found.add(new ChannelSource(channel.name(), unit(channel, segments), segments));
            }
        }
        if (!absent.isEmpty()) {
            throw absent(absent);
        }
        checkOnce(found);
        return found;
    }

    /** Whether a channel is there and can be converted. */
    boolean has(VariableTable.Channel channel) {
        return stores.stream().anyMatch(store -> store.arrays().stream().anyMatch(array -> {
            try {
                return segment(store, array, channel) != null;
            } catch (UserException refused) {
                return false;
            }
        }));
    }

    private List<ChannelSource.Segment> segments(VariableTable.Channel channel) {
        List<ChannelSource.Segment> segments = new ArrayList<>();
        for (ArrayStore store : stores) {
            ChannelSource.Segment inStore = null;
            for (StoredArray array : store.arrays()) {
                ChannelSource.Segment segment = segment(store, array, channel);
                if (segment != null && inStore != null) {
                    throw new UserException(store.title() + " has '" + channel.name() + "' twice, as '"
                        + inStore.array().name() + "' and as '" + array.name() + "'. Say which it is with --names.");
                }
                inStore = segment == null ? inStore : segment;
            }
            if (inStore != null) {
                segments.add(inStore);
            }
        }
        return segments;
    }

    /** The array as a source of the channel; null if it is not one. */
    private ChannelSource.Segment segment(ArrayStore store, StoredArray array, VariableTable.Channel channel) {
        boolean byChannel = array.attributes().has(CHANNEL) && array.name().equals(channel.name());
        boolean byAlias = channel.aliases().contains(array.name())
            || channel.aliases().isEmpty() && array.name().equals(channel.name());
        if (!byChannel && !byAlias) {
            return null;
        }
        GriddedArray field = gridded(store, array).orElse(null);
        if (field == null) {
            return null;
        }
        if (byChannel || channel.level().isEmpty() && field.levels().length <= 1) {
            return new ChannelSource.Segment(field, 0);
        }
        for (int level = 0; channel.level().isPresent() && level < field.levels().length; level++) {
            if (Math.abs(field.levels()[level] - channel.level().getAsInt()) < 1e-3) {
                return new ChannelSource.Segment(field, level);
            }
        }
        return null;
    }

    private Optional<GriddedArray> gridded(ArrayStore store, StoredArray array) {
        Optional<GriddedArray> field = known.get(array);
        if (field == null) {
            field = GriddedArray.of(store, array);
            known.put(array, field);
        }
        return field;
    }

    private static String unit(VariableTable.Channel channel, List<ChannelSource.Segment> segments) {
        Optional<String> expected = channel.unit();
        String first = segments.getFirst().array().subject();
        for (ChannelSource.Segment segment : segments) {
            Optional<String> unit = segment.array().unit();
            if (unit.isPresent() && expected.isPresent() && !CfUnit.same(unit.get(), expected.get())) {
                throw new UserException(segment.array().subject() + " is in '" + unit.get() + "', expected '"
                    + expected.get() + "' as " + (channel.unit().isPresent() ? "'" + channel.name()
                    + "' has. Convert its units, or give it a line of its own with --names." : first
                    + " is. Leave out one of them."));
            }
            expected = expected.or(() -> unit);
        }
        return expected.orElse("");
    }

    /** An array at a level is one channel only. */
    private static void checkOnce(List<ChannelSource> found) {
        Map<ChannelSource.Segment, ChannelSource> used = new HashMap<>();
        for (ChannelSource channel : found) {
            for (ChannelSource.Segment segment : channel.segments()) {
                ChannelSource other = used.put(segment, channel);
                if (other != null) {
                    throw new UserException(segment.array().subject() + " is both '" + other.name() + "' and '"
                        + channel.name() + "' of --variables. Name it once.");
                }
            }
        }
    }

    /** What an array is, or why it cannot be converted, as its name is followed by it. */
    private String text(ArrayStore store, StoredArray array) {
        try {
            return gridded(store, array).map(GriddedArray::levelText)
                .orElse(" " + Arrays.toString(array.shape()) + ", no field of latitudes and longitudes");
        } catch (UserException refused) {
            return " " + Arrays.toString(array.shape()) + ", not converted (" + reason(store, refused) + ")";
        }
    }

    /** Why an array of a store is refused, without the store's title. */
    static String reason(ArrayStore store, UserException refused) {
        return refused.getMessage().replace(store.title() + ": ", "");
    }

    /** The message for channels that are nowhere: what there is, and the reason why an array is no field. */
    private UserException absent(List<String> absent) {
        SortedSet<String> names = new TreeSet<>();
        for (ArrayStore store : stores) {
            for (StoredArray array : store.arrays()) {
                if (array.shape().length >= 2) {
                    names.add(array.name() + text(store, array));
                }
            }
        }
        String shown = String.join("; ", names.stream().limit(MOST_SHOWN).toList())
            + (names.size() > MOST_SHOWN ? "; and " + (names.size() - MOST_SHOWN) + " others" : "");
        String where = stores.size() == 1 ? stores.getFirst().title() + " has" : stores.getFirst().title() + " and "
            + (stores.size() - 1) + " others have";
        return new UserException(where + " no variable for " + String.join(", ", absent) + ", but: "
            + (names.isEmpty() ? "no fields" : shown)
            + ". Name others with --variables, or say what these names stand for with --names.");
    }
}
