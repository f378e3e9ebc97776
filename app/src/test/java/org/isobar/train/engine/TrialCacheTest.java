package org.isobar.train.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Times are read for the key that they were written with, and for no other. */
class TrialCacheTest {
    private static final String KEY = "isobar 0.1.0\ncuDNN 9.19.0\nNVIDIA H100, driver 13.1\nBF16\nshape";

    @TempDir
    private Path directory;

    private TrialCache cache() {
        return new TrialCache(Map.of("ISOBAR_CACHE", directory.toString()));
    }

    @Test
    void timesAreReadForTheirKey() throws IOException {
        AttentionTimes times = new AttentionTimes(0.0123, 1e-4);
        List<String> notes = new ArrayList<>();
        cache().write(KEY, times, notes::add);
        assertEquals(Optional.of(times), cache().read(KEY));
        assertEquals(Optional.empty(), cache().read(KEY.replace("driver 13.1", "driver 13.2")));
        assertEquals(Optional.empty(), cache().read(KEY.replace("9.19.0", "9.20.0")));
        List<Path> files;
        try (Stream<Path> all = Files.list(directory.resolve("attention"))) {
            files = all.toList();
        }
        assertEquals(1, files.size());
        for (String damaged : List.of("", "0.1\n", "0.1\n0.2\nanother key", "fast\nslow\n" + KEY)) {
            Files.writeString(files.getFirst(), damaged);
            assertEquals(Optional.empty(), cache().read(KEY), damaged);
        }
        assertTrue(notes.isEmpty(), notes::toString);
    }

    @Test
    void withoutADirectoryNothingIsKept() {
        TrialCache none = new TrialCache(Map.of());
        none.write(KEY, AttentionTimes.NONE, _ -> { });
        assertEquals(Optional.empty(), none.read(KEY));
    }
}
