package org.isobar.data.synthetic;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.data.Era5File;
import org.isobar.data.Era5Variable;
import org.isobar.data.Hdf5Header;
import org.isobar.os.AtomicFile;

/**
 * Writes year files of synthetic weather. A few frames are computed at a time, each on its own thread, so that memory
 * depends on the frame size only.
 */
final class YearWriter {
    private static final int MAX_THREADS = 8; // each has the memory of a frame

    private final SyntheticConfig config;
    private final List<Slot> slots;

    YearWriter(SyntheticConfig config) {
        this.config = config;
        SyntheticWeather weather = new SyntheticWeather(config);
        int threads = Math.min(MAX_THREADS, Runtime.getRuntime().availableProcessors());
        slots = IntStream.range(0, threads).mapToObj(i -> new Slot(weather)).toList();
    }

    /**
     * Writes the year whose first frame has the number {@code first}; {@code observer} receives its frames in order.
     */
    void write(Path path, long first, Consumer<WeatherFrame> observer) {
        long[] extents = {config.samplesPerYear(), Era5Variable.COUNT, config.height(), config.width()};
        ByteBuffer header = Hdf5Header.of(Era5File.FIELDS, extents, List.of(
            new Hdf5Header.Attribute("channels", variables().map(Era5Variable::label).toList()),
            new Hdf5Header.Attribute("units", variables().map(Era5Variable::unit).toList())), config.chunkSteps());
        new AtomicFile("data file", path, "--data_dir").write(channel -> {
            writeFully(channel, header, 0);
            for (int done = 0; done < config.samplesPerYear(); done += slots.size()) {
                int start = done;
                int count = Math.min(slots.size(), config.samplesPerYear() - start);
                try {
                    IntStream.range(0, count).parallel()
                        .forEach(i -> slots.get(i).write(channel, first + start + i, start + i));
                } catch (UncheckedIOException failure) {
                    throw failure.getCause();
                }
                slots.subList(0, count).forEach(slot -> observer.accept(slot.frame));
            }
            if (config.chunkSteps() != SyntheticConfig.CONTIGUOUS) {
                writeFully(channel, Hdf5ChunkIndex.of(extents, config.chunkSteps(), Hdf5Header.DATA_ADDRESS),
                    channel.size());
            }
        });
    }

    private static Stream<Era5Variable> variables() {
        return Stream.of(Era5Variable.values());
    }

    private static void writeFully(FileChannel channel, ByteBuffer buffer, long position) throws IOException {
        long at = position;
        while (buffer.hasRemaining()) {
            at += channel.write(buffer, at);
        }
    }

    /** Memory of one frame, and of the bytes of one field. */
    private static final class Slot {
        private final WeatherFrame frame;
        private final ByteBuffer bytes;

        Slot(SyntheticWeather weather) {
            frame = new WeatherFrame(weather);
            bytes = ByteBuffer.allocateDirect(weather.grid().points() * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        }

        void write(FileChannel channel, long number, int index) {
            frame.moveTo(number);
            long position = Hdf5Header.DATA_ADDRESS + (long) index * Era5Variable.COUNT * bytes.capacity();
            try {
                for (Era5Variable variable : Era5Variable.values()) {
                    bytes.clear().asFloatBuffer().put(frame.field(variable));
                    writeFully(channel, bytes, position);
                    position += bytes.capacity();
                }
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }
    }
}
