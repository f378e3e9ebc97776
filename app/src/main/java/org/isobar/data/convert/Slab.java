package org.isobar.data.convert;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

import org.isobar.data.convert.GriddedArray.Role;
import org.isobar.data.source.StoredArray;

/**
 * A part of a year that one thread reads at once: some time steps, levels and rows of an array, cut along its chunks,
 * so that few chunks are decompressed twice.
 *
 * @param array    the array
 * @param grid     how its grid is ordered
 * @param levels   number of the channel in the output, by index of the level
 * @param times    numbers of the frames in the output, by index of the time step
 * @param firstRow first row that is written
 * @param rows     number of rows that are written
 */
record Slab(GriddedArray array, TargetGrid grid, SortedMap<Integer, Integer> levels,
            SortedMap<Integer, List<Integer>> times, int firstRow, int rows) {
    /** Most bytes that one slab should read at once. A single chunk may be larger. */
    private static final long READ_BYTES = 64L << 20;
    /** Bytes that are worth a task of their own. */
    private static final long TASK_BYTES = 1L << 20;

    /**
     * Cuts a year into slabs, those of the first frames first.
     *
     * @param channels the channels, in the order of the output
     */
    static List<Slab> of(List<ChannelSource> channels, TimePlan.Year year, Grids grids, NanFill fill) {
        Map<GriddedArray, SortedMap<Integer, Integer>> levels = new LinkedHashMap<>();
        Map<GriddedArray, SortedMap<Integer, List<Integer>>> times = new LinkedHashMap<>();
        for (int c = 0; c < channels.size(); c++) {
            for (int frame = 0; frame < year.frames(); frame++) {
                ChannelSource.Place place = channels.get(c).at(year.time(frame));
                GriddedArray array = place.segment().array();
                levels.computeIfAbsent(array, key -> new TreeMap<>()).put(place.segment().level(), c);
                List<Integer> frames = times.computeIfAbsent(array, key -> new TreeMap<>())
                    .computeIfAbsent(place.time(), key -> new ArrayList<>());
                if (!frames.contains(frame)) {
                    frames.add(frame);
                }
            }
        }
        List<Slab> slabs = new ArrayList<>();
        levels.forEach((array, own) -> {
            boolean whole = own.values().stream().anyMatch(c -> fill.fillsMean(channels.get(c).name()));
            for (SortedMap<Integer, Integer> group : groups(own, chunk(array, Role.LEVEL))) {
                cut(array, group, times.get(array), grids.of(array), whole, slabs);
            }
        });
        slabs.sort(Comparator.comparing(slab -> slab.times.values().iterator().next().getFirst()));
        return slabs;
    }

    private static void cut(GriddedArray array, SortedMap<Integer, Integer> levels,
                            SortedMap<Integer, List<Integer>> times, TargetGrid grid, boolean whole,
                            List<Slab> slabs) {
        int chunkRows = Math.max(1, chunk(array, Role.LATITUDE));
        int chunkTimes = Math.max(1, chunk(array, Role.TIME));
        long rowBytes = (long) array.stored().type().bytes() * extent(array, Role.LONGITUDE)
            * (levels.lastKey() - levels.firstKey() + 1) * extent(array, Role.VERSION) * chunkTimes;
        int sourceRows = whole ? Integer.MAX_VALUE
            : Math.clamp(READ_BYTES / rowBytes / chunkRows * chunkRows, chunkRows, Integer.MAX_VALUE);
        int band = Math.clamp(sourceRows / grid.cell(), 1, grid.height());
        long perChunk = rowBytes * band * grid.cell();
        int block = chunkTimes * Math.clamp(TASK_BYTES / Math.max(1, perChunk), 1, 1 << 12);
        for (SortedMap<Integer, List<Integer>> some : groups(times, block)) {
            for (int row = 0; row < grid.height(); row += band) {
                slabs.add(new Slab(array, grid, levels, some, row, Math.min(band, grid.height() - row)));
            }
        }
    }

    /** The time steps that are read together: those of one chunk. */
    List<SortedMap<Integer, List<Integer>>> reads() {
        return groups(times, Math.max(1, chunk(array, Role.TIME)));
    }

    /** Cuts indexes into groups that lie in the same block of {@code size}. */
    private static <T> List<SortedMap<Integer, T>> groups(SortedMap<Integer, T> indexes, int size) {
        SortedMap<Integer, SortedMap<Integer, T>> groups = new TreeMap<>();
        indexes.forEach((index, value) ->
            groups.computeIfAbsent(index / Math.max(1, size), key -> new TreeMap<>()).put(index, value));
        return List.copyOf(groups.values());
    }

    private static int chunk(GriddedArray array, Role role) {
        return array.dim(role) == GriddedArray.ABSENT ? 0 : array.stored().chunk()[array.dim(role)];
    }

    private static int extent(GriddedArray array, Role role) {
        return array.dim(role) == GriddedArray.ABSENT ? 1 : array.stored().shape()[array.dim(role)];
    }

    /** Index of the first element of a read in the array. */
    int[] start(SortedMap<Integer, List<Integer>> read) {
        int[] start = new int[array.stored().shape().length];
        set(start, Role.TIME, read.firstKey());
        set(start, Role.LEVEL, levels.firstKey());
        set(start, Role.LATITUDE, Arrays.stream(sourceRows()).min().orElseThrow());
        set(start, Role.LONGITUDE, Arrays.stream(grid.columns()).min().orElseThrow());
        return start;
    }

    /** Extents of a read. */
    int[] count(SortedMap<Integer, List<Integer>> read) {
        int[] start = start(read);
        int[] count = new int[start.length];
        Arrays.fill(count, 1);
        set(count, Role.TIME, read.lastKey() - read.firstKey() + 1);
        set(count, Role.LEVEL, levels.lastKey() - levels.firstKey() + 1);
        set(count, Role.VERSION, extent(array, Role.VERSION));
        int lat = array.dim(Role.LATITUDE);
        int lon = array.dim(Role.LONGITUDE);
        count[lat] = Arrays.stream(sourceRows()).max().orElseThrow() - start[lat] + 1;
        count[lon] = Arrays.stream(grid.columns()).max().orElseThrow() - start[lon] + 1;
        return count;
    }

    /** Bytes that the slab holds in memory at once: a read, and a chunk. */
    long bytes() {
        long most = reads().stream().mapToLong(read -> StoredArray.elements(count(read))).max().orElse(0);
        return (most + 2 * StoredArray.elements(array.stored().chunk())) * array.stored().type().bytes();
    }

    /** Bytes that it has in the year's file. */
    long writtenBytes() {
        long fields = (long) levels.size() * times.values().stream().mapToInt(List::size).sum();
        return fields * rows * grid.width() * Float.BYTES;
    }

    /** All that determines which bytes of the year's file it has, and in what order. */
    String description() {
        return List.of(array.store().path(), array.name(), levels, times, firstRow, rows, Arrays.hashCode(grid.rows()),
            Arrays.hashCode(grid.columns()), grid.cell()).toString();
    }

    private int[] sourceRows() {
        return IntStream.range(firstRow * grid.cell(), (firstRow + rows) * grid.cell()).map(row -> grid.rows()[row])
            .toArray();
    }

    private void set(int[] indexes, Role role, int value) {
        if (array.dim(role) != GriddedArray.ABSENT) {
            indexes[array.dim(role)] = value;
        }
    }
}
