package org.isobar.data.convert;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.data.Era5File;
import org.isobar.data.Hdf5Header;
import org.isobar.data.survey.RowReader;
import org.isobar.data.survey.StatisticsScan;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/** Writes year files: several threads convert slabs of the year at the same time, and another follows them. */
final class YearConverter {
    private static final long MEMORY = 384L << 20; // of all slabs that are converted at the same time
    private static final int MOST_THREADS = 16;
    private static final int POLL_MILLIS = 100;
    private static final ValueLayout.OfFloat LITTLE_ENDIAN =
        ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final List<ChannelSource> channels;
    private final Grids grids;
    private final TargetGrid grid;
    private final NanFill fill;
    private final SourceFingerprint sources;
    private final long saveBytes;

    /**
     * A converter of some channels.
     *
     * @param saveBytes bytes after which the disk is to have what was written, and a record of it
     */
    YearConverter(List<ChannelSource> channels, Grids grids, NanFill fill, long saveBytes) {
        this.channels = channels;
        this.grids = grids;
        grid = grids.common();
        this.fill = fill;
        this.saveBytes = saveBytes;
        sources = new SourceFingerprint(channels);
    }

    /** Size of a year's file in bytes. */
    long bytes(TimePlan.Year year) {
        return header(year).capacity() + (long) year.frames() * channels.size() * grid.height() * grid.width()
            * Float.BYTES;
    }

    /**
     * Bytes of a year's file that a conversion has left that was killed, and that this one need not write.
     *
     * @throws org.isobar.fault.UserException if they cannot be opened
     */
    long leftBytes(TimePlan.Year year, Path path) {
        if (!PartialFile.exists(path)) {
            return 0;
        }
        List<Slab> slabs = Slab.of(channels, year, grids, fill);
        try (PartialFile file = open(year, slabs, path)) {
            return file.written().stream().mapToLong(slab -> slabs.get(slab).writtenBytes()).sum();
        } catch (IOException failure) {
            throw unwritable(path, failure);
        }
    }

    /**
     * Writes a year's file, under a temporary name until it is whole. Continues what a conversion has left that was
     * killed, if sources and settings are the same.
     *
     * @param progress   receives the bytes of each part that the file has; is called by several threads
     * @param statistics receives the frames, from the first on, as soon as they are whole
     * @throws org.isobar.fault.UserException if the data cannot be read or the file cannot be written
     */
    void write(TimePlan.Year year, Path path, LongConsumer progress, Optional<StatisticsScan> statistics) {
        List<Slab> slabs = Slab.of(channels, year, grids, fill);
        try (PartialFile file = open(year, slabs, path)) {
            try {
                ByteBuffer header = header(year);
                AtomicFile.writeFully(file.channel().position(0), header);
                file.lengthen(header.capacity() + year.frames() * frameBytes());
                convert(slabs, file, header.capacity(), progress,
                    new WholeFrames(slabs, year.frames(), file.written()), statistics);
                file.finish();
            } catch (Throwable failure) {
                file.discard();
                throw failure;
            }
        } catch (IOException failure) {
            throw unwritable(path, failure);
        }
    }

    private long frameBytes() {
        return (long) channels.size() * grid.height() * grid.width() * Float.BYTES;
    }

    private static UserException unwritable(Path path, IOException failure) {
        return FileFault.unwritable("data file " + path, "--to", failure);
    }

    private PartialFile open(TimePlan.Year year, List<Slab> slabs, Path path) throws IOException {
        List<String> how = new ArrayList<>(slabs.stream().map(Slab::description).toList());
        how.add(HexFormat.of().formatHex(header(year).array()));
        how.add(fill.toString());
        return PartialFile.open(path, sources.with(how));
    }

    private void convert(List<Slab> slabs, PartialFile file, long dataAddress, LongConsumer progress,
        WholeFrames whole, Optional<StatisticsScan> statistics) throws IOException {
        BitSet written = file.written();
        progress.accept(written.stream().mapToLong(slab -> slabs.get(slab).writtenBytes()).sum());
        Queue<Integer> left = IntStream.range(0, slabs.size()).filter(slab -> !written.get(slab)).boxed()
            .collect(Collectors.toCollection(ConcurrentLinkedQueue::new));
        List<Future<?>> converting = new ArrayList<>();
        try (ExecutorService pool = Executors.newCachedThreadPool()) { // closing waits for all
            Future<?> following = pool.submit(() -> {
                if (statistics.isPresent()) {
                    follow(file, dataAddress, whole, statistics.get());
                }
                return null;
            });
            try {
                for (int i = threads(slabs); i > 0; i--) {
                    converting.add(pool.submit(() -> convert(slabs, left, file, dataAddress, slab -> {
                        whole.written(slab);
                        progress.accept(slabs.get(slab).writtenBytes());
                    })));
                }
                for (Future<?> task : converting) {
                    await(task, file);
                }
            } finally {
                left.clear(); // after a failure
                whole.end();
            }
            await(following, file);
        }
    }

    /** Converts the slabs that are left, as long as there are any. */
    private Void convert(List<Slab> slabs, Queue<Integer> left, PartialFile file, long dataAddress,
        IntConsumer written) throws IOException {
        try (SlabConverter converter = new SlabConverter(channels, fill, file.channel(), dataAddress)) {
            for (Integer slab = left.poll(); slab != null; slab = left.poll()) {
                file.add(slab, converter.convert(slabs.get(slab)));
                written.accept(slab);
            }
            return null;
        } catch (Throwable failure) {
            left.clear();
            throw failure;
        }
    }

    /** Adds each frame to the statistics when it is whole: it is still in the page cache then. */
    private void follow(PartialFile file, long dataAddress, WholeFrames whole, StatisticsScan statistics)
        throws IOException, InterruptedException {
        long rowBytes = (long) grid.width() * Float.BYTES;
        long frameRows = (long) channels.size() * grid.height();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment data = file.map(dataAddress, whole.frames() * frameBytes(), arena);
            RowReader reader = (time, first, rows, target, offset) -> MemorySegment.copy(data, LITTLE_ENDIAN,
                (time * frameRows + first) * rowBytes, target, ValueLayout.JAVA_FLOAT, offset, rows * grid.width());
            int done = 0;
            for (int end = whole.await(done); end > done; end = whole.await(done)) {
                statistics.add(file.path(), channel -> channels.get(channel).name(), reader, done, end);
                done = end;
            }
        }
    }

    private void await(Future<?> task, PartialFile file) throws IOException {
        while (!isDone(task)) {
            file.save(saveBytes);
        }
    }

    /** One more than there are cores: only one thread writes at a time, and the others convert meanwhile. */
    private static int threads(List<Slab> slabs) {
        long largest = slabs.stream().mapToLong(Slab::bytes).max().orElse(1);
        return Math.clamp(MEMORY / Math.max(1, largest), 1,
            Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors() + 1));
    }

    /** Waits for a moment. */
    private static boolean isDone(Future<?> task) throws IOException {
        try {
            task.get(POLL_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException running) {
            return false;
        } catch (ExecutionException failure) {
            switch (failure.getCause()) {
                case IOException unwritten -> throw unwritten;
                case RuntimeException other -> throw other;
                case Error fatal -> throw fatal;
                default -> throw new IllegalStateException(failure.getCause());
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(interrupted);
        }
    }

    private ByteBuffer header(TimePlan.Year year) {
        List<Hdf5Header.Companion> companions = new ArrayList<>();
        companions.add(new Hdf5Header.Companion("channel",
            channels.stream().map(ChannelSource::name).toArray(String[]::new), ""));
        companions.add(new Hdf5Header.Companion("units",
            channels.stream().map(ChannelSource::unit).toArray(String[]::new), ""));
        companions.add(new Hdf5Header.Companion("time", year.times(), "seconds since 1970-01-01 00:00:00"));
        companions.add(new Hdf5Header.Companion("lat", grid.latitudes(), "degrees_north"));
        companions.add(new Hdf5Header.Companion("lon", grid.longitudes(), "degrees_east"));
        return Hdf5Header.of(Era5File.FIELDS,
            new long[] {year.frames(), channels.size(), grid.height(), grid.width()}, List.of(), companions);
    }
}
