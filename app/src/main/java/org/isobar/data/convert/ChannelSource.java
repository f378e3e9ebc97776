package org.isobar.data.convert;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;

/** Where the fields of a channel are: arrays of one or more stores, ordered by time. */
final class ChannelSource {
    private final String name;
    private final String unit;
    private final List<Segment> segments;
    private final long[] times; // of all segments, rising; empty for a constant field
    private final int[] owners; // the segment of each time
    private final int[] indexes; // of each time in its segment

    /**
     * An array that has fields of the channel.
     *
     * @param level index of the level; 0 if the array has none
     */
    record Segment(GriddedArray array, int level) { }

    /**
     * A field.
     *
     * @param time index of the time step in the array; 0 if it has none
     */
    record Place(Segment segment, int time) { }

    /**
     * A channel.
     *
     * @param segments at least one
     * @throws UserException if two of them have the same time, or only some of them depend on time
     */
    ChannelSource(String name, String unit, List<Segment> segments) {
        this.name = name;
        this.unit = unit;
        this.segments = segments;
        List<Segment> constant = segments.stream().filter(segment -> segment.array.times().length == 0).toList();
        if (!constant.isEmpty() && segments.size() > 1) {
            Segment other = segments.get(segments.getFirst() == constant.getFirst() ? 1 : 0);
            throw new UserException(constant.getFirst().array.subject() + " has no times, and there is '" + name
                + "' in " + other.array.store().title() + " too. Leave out one of them.");
        }
        int count = segments.stream().mapToInt(segment -> segment.array.times().length).sum();
        times = new long[count];
        owners = new int[count];
        indexes = new int[count];
        merge();
    }

    private void merge() {
        /** A time of a segment. */
        record Entry(long time, int owner, int index) { }
        List<Entry> entries = IntStream.range(0, segments.size()).boxed().flatMap(owner -> {
            long[] own = segments.get(owner).array.times();
            return IntStream.range(0, own.length).mapToObj(index -> new Entry(own[index], owner, index));
        }).sorted(Comparator.comparingLong(Entry::time)).toList();
        for (int i = 0; i < times.length; i++) {
            times[i] = entries.get(i).time;
            owners[i] = entries.get(i).owner;
            indexes[i] = entries.get(i).index;
            if (i > 0 && times[i] == times[i - 1]) {
                throw new UserException(segments.get(owners[i]).array.subject() + " has the time "
                    + CfTime.text(times[i]) + ", and so has " + segments.get(owners[i - 1]).array.store().title()
                    + ". Leave out one of them.");
            }
        }
    }

    /** Its short name. */
    String name() {
        return name;
    }

    /** Its unit. */
    String unit() {
        return unit;
    }

    /** The arrays. */
    List<Segment> segments() {
        return segments;
    }

    /** All times in seconds since 1970, rising; empty if the field is constant. */
    long[] times() {
        return times;
    }

    /** Whether it does not depend on time. */
    boolean isConstant() {
        return times.length == 0;
    }

    /** Whether there is a field at a time. */
    boolean has(long time) {
        return isConstant() || Arrays.binarySearch(times, time) >= 0;
    }

    /** Where the field of a time is; there is one. */
    Place at(long time) {
        if (isConstant()) {
            return new Place(segments.getFirst(), 0);
        }
        int found = Arrays.binarySearch(times, time);
        return new Place(segments.get(owners[found]), indexes[found]);
    }
}
