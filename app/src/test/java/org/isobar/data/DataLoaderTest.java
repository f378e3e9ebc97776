package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The batches do not depend on the number of threads; failing and closing do not hang. */
@Timeout(60)
@Isolated("looks for threads of loaders that are still alive")
class DataLoaderTest {
    private static final int BATCH = 3;

    @TempDir
    private Path directory;
    private final HostDevice device = new HostDevice();

    @BeforeEach
    void twoYears() {
        for (int year = 0; year < 2; year++) {
            int first = 100 * year;
            DataFixtures.year(directory.resolve("train/" + (1979 + year) + ".h5"), 10, new CropWindow(3, 4, 6),
                (t, c, j, i) -> first + 10 * t + c + 0.1f * j + 0.01f * i);
        }
    }

    private Era5Dataset data() {
        return Era5Dataset.open(DataFixtures.config(directory, 3, 5, 1));
    }

    private static DistributedSampler sampler(Era5Dataset data) {
        return new DistributedSampler(data.size(), BATCH, 1, 0, true, 5);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3, 9})
    void orderAndContentsDoNotDependOnTheWorkers(int workers) {
        try (Era5Dataset data = data(); DataLoader loader = new DataLoader(device, data, sampler(data), workers)) {
            assertEquals(6, loader.steps());
            for (int number = 0; number < 3; number++) {
                List<Integer> seen = new ArrayList<>();
                try (DataLoader.Epoch epoch = loader.epoch(number)) {
                    while (epoch.hasNext()) {
                        Batch batch = epoch.next();
                        assertHolds(data, batch);
                        Arrays.stream(batch.samples()).forEach(seen::add);
                        batch.close();
                    }
                }
                assertEquals(IntStream.of(sampler(data).epoch(number)).boxed().toList(), seen);
            }
        }
        assertEquals(0, device.openBuffers());
    }

    @Test
    void severalThreadsDecompressChunksAsOneThreadDoes() throws IOException {
        Path train = Files.createDirectories(directory.resolve("chunks/train"));
        Files.copy(DataFixtures.resource("chunked_gzip.h5"), train.resolve("1979.h5"));
        for (int number = 0; number < 50; number++) { // a new file each time: the first reader reads the chunk table
            try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(train.getParent(), 3, 5, 1));
                Era5Dataset again = Era5Dataset.open(data.config());
                DataLoader loader = new DataLoader(device, data, sampler(data), 3);
                DataLoader.Epoch epoch = loader.epoch(number)) {
                assertHolds(again, epoch.next());
            }
        }
    }

    private static void assertHolds(Era5Dataset data, Batch batch) {
        assertEquals(Shape.of(BATCH, 3, 3, 5), batch.input().shape());
        assertEquals(Shape.of(BATCH, 2, 3, 5), batch.target().shape());
        float[] input = new float[BATCH * 45];
        float[] target = new float[BATCH * 30];
        for (int b = 0; b < BATCH; b++) {
            data.read(batch.samples()[b], MemorySegment.ofArray(input), 4 * 45 * b,
                MemorySegment.ofArray(target), 4 * 30 * b);
        }
        assertTrue(Arrays.equals(input, HostDevice.values(batch.input())));
        assertTrue(Arrays.equals(target, HostDevice.values(batch.target())));
    }

    /** The device divides in single precision, as the host does. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void hostAndDeviceNormalizationAgree(int workers) {
        try (CpuDevice cpu = new CpuDevice(1); Era5Dataset data = data();
            DataLoader host = new DataLoader(cpu, data, sampler(data), workers);
            DataLoader raw = new DataLoader(cpu, data, sampler(data), workers, NormalizationPlace.ON_DEVICE);
            DataLoader.Epoch expected = host.epoch(1);
            DataLoader.Epoch found = raw.epoch(1)) {
            while (expected.hasNext()) {
                try (Batch right = expected.next(); Batch batch = found.next()) {
                    assertArrayEquals(right.samples(), batch.samples());
                    for (int call = 0; call < 2; call++) { // the second call returns the same images
                        assertSameImages(cpu, right.input(), batch.input());
                        assertSameImages(cpu, right.target(), batch.target());
                    }
                }
            }
        }
        assertEquals(0, DataLoader.statisticsBytes(NormalizationPlace.ON_HOST, 20));
        assertEquals(2 * 256, DataLoader.statisticsBytes(NormalizationPlace.ON_DEVICE, 20));
        assertEquals(2 * 512, DataLoader.statisticsBytes(NormalizationPlace.ON_DEVICE, 65));
    }

    private static void assertSameImages(CpuDevice device, Tensor expected, Tensor found) {
        assertEquals(expected.shape(), found.shape());
        float[] right = new float[(int) expected.elements()];
        float[] images = new float[right.length];
        device.download(MemorySegment.ofArray(right), expected);
        device.download(MemorySegment.ofArray(images), found);
        for (int i = 0; i < images.length; i++) {
            assertEquals(right[i], images[i], 2 * Math.ulp(right[i]));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void anEpochCanBeClosedEarly(int workers) {
        try (Era5Dataset data = data(); DataLoader loader = new DataLoader(device, data, sampler(data), workers)) {
            try (DataLoader.Epoch epoch = loader.epoch(0)) {
                epoch.next();
            }
            try (DataLoader.Epoch epoch = loader.epoch(1)) {
                Batch batch = epoch.next();
                assertEquals(Arrays.stream(sampler(data).epoch(1)).limit(BATCH).boxed().toList(),
                    Arrays.stream(batch.samples()).boxed().toList());
                assertHolds(data, batch);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void anEpochCanStartAfterAnyStep(int workers) {
        try (Era5Dataset data = data(); DataLoader loader = new DataLoader(device, data, sampler(data), workers)) {
            int[] whole = sampler(data).epoch(2);
            for (int done = 0; done <= loader.steps(); done++) {
                List<Integer> seen = new ArrayList<>();
                try (DataLoader.Epoch epoch = loader.epoch(2, done)) {
                    while (epoch.hasNext()) {
                        try (Batch batch = epoch.next()) {
                            assertHolds(data, batch);
                            Arrays.stream(batch.samples()).forEach(seen::add);
                        }
                    }
                    assertThrows(NoSuchElementException.class, epoch::next);
                }
                assertEquals(Arrays.stream(whole).skip((long) done * BATCH).boxed().toList(), seen);
            }
        }
    }

    @Test
    void misuseThrows() {
        try (Era5Dataset data = data(); DataLoader loader = new DataLoader(device, data, sampler(data), 1)) {
            DataLoader.Epoch epoch = loader.epoch(0);
            assertThrows(IllegalStateException.class, () -> loader.epoch(1));
            Batch batch = epoch.next();
            assertThrows(IllegalStateException.class, epoch::next);
            batch.close();
            batch.close();
            epoch.next();
            epoch.close();
            assertThrows(IllegalStateException.class, epoch::next);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void failuresReachTheConsumerInOrder(int workers) throws IOException {
        Path train = Files.createDirectories(directory.resolve("damaged/train"));
        Files.copy(DataFixtures.resource("sparse.h5"), train.resolve("1979.h5")); // without the last time step
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(train.getParent(), 5, 7, 1));
                DataLoader loader = new DataLoader(device, data, new DistributedSampler(4, 1, 1, 0, false, 0), workers);
                DataLoader.Epoch epoch = loader.epoch(0)) {
            for (int good = 0; good < 2; good++) {
                Batch batch = epoch.next();
                assertEquals(good, batch.samples()[0]);
                batch.close();
            }
            UserException first = assertThrows(UserException.class, epoch::next);
            assertTrue(first.getMessage().contains("1979.h5"), first.getMessage());
            assertSame(first, assertThrows(UserException.class, epoch::next));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3})
    void closingEndsThreadsAndFreesBuffers(int workers) {
        try (Era5Dataset data = data()) {
            DataLoader loader = new DataLoader(device, data, sampler(data), workers);
            assertEquals(2 * (workers == 0 ? 1 : 3), device.openBuffers());
            loader.epoch(0).next();
            assertTimeoutPreemptively(Duration.ofSeconds(5), loader::close);
            loader.close();
            assertEquals(0, device.openBuffers());
            assertFalse(Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.isAlive() && thread.getName().startsWith("isobar-data-")));
        }
    }

    /** A batch of 16 samples of preset base is 0.66 GB. */
    @ParameterizedTest
    @CsvSource({"0, 1, 1", "0, 16, 1", "1, 1, 3", "2, 1, 4", "8, 1, 4", "1, 16, 3", "2, 16, 3", "8, 16, 3", "8, 4, 4"})
    void thereAreSlotsForAllThreads(int workers, int batch, int slots) {
        assertEquals(slots, DataLoader.slots(workers, batch));
    }

    @Test
    void refusesDataSmallerThanABatch() {
        try (Era5Dataset data = data()) {
            DistributedSampler sampler = new DistributedSampler(data.size(), 21, 1, 0, true, 0);
            String message = assertThrows(UserException.class,
                () -> new DataLoader(device, data, sampler, 0)).getMessage();
            assertTrue(message.contains("holds 20 samples, fewer than one batch of 21"), message);
        }
    }
}
