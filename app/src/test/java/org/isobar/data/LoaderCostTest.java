package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

import com.sun.management.ThreadMXBean;
import org.isobar.os.PageCache;
import org.isobar.os.PageCacheControl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Reading a sample allocates no heap memory, and the disk reads ahead. */
@Timeout(120)
@Isolated("counts what this process reads from the disk")
class LoaderCostTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long MAX_BYTES = 100;

    @TempDir
    private Path directory;
    private final HostDevice device = new HostDevice();

    private static DistributedSampler inOrder(Era5Dataset data) {
        return new DistributedSampler(data.size(), 1, 1, 0, false, 0);
    }

    /** Vectors are heap objects until the JIT compiler has compiled the loop. */
    @Test
    void aStepAllocatesNothingOnceItIsCompiled() {
        DataFixtures.year(directory.resolve("train/1979.h5"), 10, new CropWindow(3, 24, 67), (t, c, j, i) -> t + c + j
            + i);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(directory, 20, 67, 1));
            DataLoader loader = new DataLoader(device, data, inOrder(data), 0)) {
            Instant end = Instant.now().plus(PATIENCE);
            while (least > MAX_BYTES && Instant.now().isBefore(end)) {
                try (DataLoader.Epoch epoch = loader.epoch(0)) {
                    while (epoch.hasNext()) {
                        long before = threads.getCurrentThreadAllocatedBytes();
                        try (Batch batch = epoch.next()) {
                            batch.input();
                            batch.target();
                        }
                        least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
                    }
                }
            }
        }
        assertTrue(least <= MAX_BYTES, least + " bytes a step");
    }

    @Test
    void nextSamplesArePrefetchedAndReadOnce() throws IOException, InterruptedException {
        Path year = directory.resolve("train/1979.h5");
        PageCacheControl.drop(DataFixtures.year(year, 10, new CropWindow(3, 512, 512), (t, c, j, i) -> t));
        PageCache pages = new PageCache();
        try (Era5Dataset data = Era5Dataset.open(DataFixtures.config(directory, 512, 512, 1));
            DataLoader loader = new DataLoader(device, data, inOrder(data), 0);
            DataLoader.Epoch epoch = loader.epoch(0)) {
            long before = pages.blocksRead();
            epoch.next().close();
            long after = pages.blocksRead();
            long all = Files.size(year) / 512; // no sample uses the first frame, or one channel of the last
            assertTrue(after - before > all * 8 / 10, (after - before) + " blocks of " + all + " read");
            while (epoch.hasNext()) {
                epoch.next().close();
            }
            assertEquals(after, pages.blocksRead());
        }
    }
}
