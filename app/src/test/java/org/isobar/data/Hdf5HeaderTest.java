package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import io.jhdf.api.dataset.ContiguousDataset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** jHDF reads files with this metadata. */
class Hdf5HeaderTest {
    @TempDir
    private Path directory;

    @Test
    void anotherReaderFindsDataAndAttributes() throws IOException {
        ByteBuffer header = Hdf5Header.of("fields", new long[] {2, 3},
            List.of(new Hdf5Header.Attribute("channels", List.of("u10", "z1000")),
                new Hdf5Header.Attribute("odd", List.of("12345678"))));
        ByteBuffer file = ByteBuffer.allocate(header.capacity() + 24).order(ByteOrder.LITTLE_ENDIAN).put(header);
        for (int i = 0; i < 6; i++) {
            file.putFloat(i - 0.5f);
        }
        Path path = Files.write(directory.resolve("made.h5"), file.array());
        try (HdfFile hdf = new HdfFile(path)) {
            assertEquals(List.of("fields"), List.copyOf(hdf.getChildren().keySet()));
            Dataset fields = hdf.getDatasetByPath("fields");
            assertArrayEquals(new float[][] {{-0.5f, 0.5f, 1.5f}, {2.5f, 3.5f, 4.5f}}, (float[][]) fields.getData());
            assertArrayEquals(new String[] {"u10", "z1000"}, (String[]) fields.getAttribute("channels").getData());
            assertArrayEquals(new String[] {"12345678"}, (String[]) fields.getAttribute("odd").getData());
        }
    }

    @Test
    void sizesExceed32Bits() throws IOException {
        long[] extents = {1460, 20, 360, 720};
        Path path = Files.write(directory.resolve("year.h5"), Hdf5Header.of("fields", extents, List.of()).array());
        long bytes = 4L * 1460 * 20 * 360 * 720;
        try (RandomAccessFile sparse = new RandomAccessFile(path.toFile(), "rw")) {
            sparse.setLength(Hdf5Header.DATA_ADDRESS + bytes);
        }
        try (HdfFile hdf = new HdfFile(path)) {
            Dataset fields = hdf.getDatasetByPath("fields");
            assertEquals(bytes, fields.getSizeInBytes());
            assertEquals(Hdf5Header.DATA_ADDRESS,
                assertInstanceOf(ContiguousDataset.class, fields).getDataAddress());
        }
    }

    @Test
    void smallDataSetsStandBesideTheLargeOne() throws IOException {
        long[] seconds = new long[3000]; // more than the first page holds
        Arrays.setAll(seconds, i -> 3600L * i - (1L << 40));
        ByteBuffer header = Hdf5Header.of("fields", new long[] {2, 3}, List.of(), List.of(
            new Hdf5Header.Companion("time", seconds, "seconds since 1970-01-01 00:00:00"),
            new Hdf5Header.Companion("channel", new String[] {"t2m", "a_long_name_of_a_variable", "°"}, ""),
            new Hdf5Header.Companion("lat", new double[] {90, -89.75}, "degrees_north")));
        assertEquals(0, header.capacity() % Hdf5Header.DATA_ADDRESS);
        ByteBuffer file = ByteBuffer.allocate(header.capacity() + 24).order(ByteOrder.LITTLE_ENDIAN).put(header);
        for (int i = 0; i < 6; i++) {
            file.putFloat(i - 0.5f);
        }
        Path path = Files.write(directory.resolve("made.h5"), file.array());
        try (HdfFile hdf = new HdfFile(path)) {
            assertEquals(Set.of("channel", "fields", "lat", "time"), hdf.getChildren().keySet());
            assertArrayEquals(seconds, (long[]) hdf.getDatasetByPath("time").getData());
            assertEquals("seconds since 1970-01-01 00:00:00",
                hdf.getDatasetByPath("time").getAttribute("units").getData());
            assertArrayEquals(new String[] {"t2m", "a_long_name_of_a_variable", "°"},
                (String[]) hdf.getDatasetByPath("channel").getData());
            assertArrayEquals(new double[] {90, -89.75}, (double[]) hdf.getDatasetByPath("lat").getData());
            assertArrayEquals(new float[][] {{-0.5f, 0.5f, 1.5f}, {2.5f, 3.5f, 4.5f}},
                (float[][]) hdf.getDatasetByPath("fields").getData());
        }
    }
}
