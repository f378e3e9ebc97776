package org.isobar.data.synthetic;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;

import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import io.jhdf.api.dataset.ChunkedDataset;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A year in chunks of several time steps has the values of a contiguous one. */
class ChunkedYearTest {
    @TempDir
    private Path directory;

    @Test
    void chunksHaveTheValuesOfAContiguousYear() {
        Object contiguous = fields("contiguous", new SyntheticConfig(8, 16, 1, 1, 0, 12, 3));
        assertArrayEquals((float[][][][]) contiguous,
            (float[][][][]) fields("chunked", new SyntheticConfig(8, 16, 1, 1, 0, 12, 3, 4)));
        assertTrue(SyntheticEra5.isComplete(new SyntheticConfig(8, 16, 1, 1, 0, 12, 3, 4),
            directory.resolve("chunked")));
    }

    private Object fields(String name, SyntheticConfig config) {
        SyntheticEra5.write(config, directory.resolve(name), SyntheticEra5.Existing.KEEP, _ -> { });
        try (HdfFile file = new HdfFile(directory.resolve(name).resolve("train/1979.h5"))) {
            Dataset fields = file.getDatasetByPath("fields");
            if (config.chunkSteps() > 0) {
                assertArrayEquals(new int[] {4, 20, 8, 16}, ((ChunkedDataset) fields).getChunkDimensions());
            }
            return fields.getData();
        }
    }

    @Test
    void chunksThatDoNotDivideAYearAreRefused() {
        UserException refused = assertThrows(UserException.class, () -> new SyntheticConfig(8, 16, 1, 1, 0, 12, 3, 5));
        assertEquals("Synthetic data: chunk_steps is 5 but must be a divisor of samples_per_year that makes at most 64 "
            + "chunks of at most 2^24 points.", refused.getMessage());
        assertThrows(UserException.class, () -> new SyntheticConfig(8, 16, 1, 1, 0, 65, 3, 1));
    }
}
