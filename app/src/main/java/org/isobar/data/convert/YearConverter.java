package org.isobar.data.convert;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongConsumer;

import org.isobar.data.Era5File;
import org.isobar.data.Hdf5Header;
import org.isobar.os.AtomicFile;

/** Writes year files: several threads convert slabs of the year at the same time. */
final class YearConverter {
    private static final long MEMORY = 384L << 20; // of all slabs that are converted at the same time
    private static final int MOST_THREADS = 16;

    private final List<ChannelSource> channels;
    private final Grids grids;
    private final TargetGrid grid;
    private final NanFill fill;

    YearConverter(List<ChannelSource> channels, Grids grids, NanFill fill) {
        this.channels = channels;
        this.grids = grids;
        grid = grids.common();
        this.fill = fill;
    }

    /** Size of a year's file in bytes. */
    long bytes(TimePlan.Year year) {
        return header(year).capacity() + (long) year.frames() * channels.size() * grid.height() * grid.width()
            * Float.BYTES;
    }

    /**
     * Writes a year's file, under a temporary name until it is whole.
     *
     * @param progress receives the bytes of each part that is written; is called by several threads
     * @throws org.isobar.fault.UserException if the data cannot be read or the file cannot be written
     */
    void write(TimePlan.Year year, Path path, LongConsumer progress) {
        List<Slab> slabs = Slab.of(channels, year, grids, fill);
        long largest = slabs.stream().mapToLong(Slab::bytes).max().orElse(1);
        int threads = Math.clamp(MEMORY / Math.max(1, largest), 1,
            Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors()));
        ByteBuffer header = header(year);
        new AtomicFile("data file", path, "--to").write(channel -> {
            AtomicFile.writeFully(channel, header);
            convert(slabs, channel, header.capacity(), threads, progress);
        });
    }

    private void convert(List<Slab> slabs, FileChannel file, long dataAddress, int threads, LongConsumer progress)
        throws IOException {
        Queue<Slab> left = new ConcurrentLinkedQueue<>(slabs);
        List<Future<?>> running = new ArrayList<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) { // closing waits for all
            for (int i = 0; i < threads; i++) {
                running.add(pool.submit(() -> {
                    try (SlabConverter converter = new SlabConverter(channels, fill, file, dataAddress)) {
                        for (Slab slab = left.poll(); slab != null; slab = left.poll()) {
                            progress.accept(converter.convert(slab));
                        }
                        return null;
                    } catch (Throwable failure) {
                        left.clear();
                        throw failure;
                    }
                }));
            }
            for (Future<?> task : running) {
                await(task);
            }
        }
    }

    private static void await(Future<?> task) throws IOException {
        try {
            task.get();
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
