package org.isobar.train.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Results are read for the key that they were written with, and for no other. */
class TrialCacheTest {
    private static final String KEY = "isobar 0.1.0\ncuDNN 9.19.0\nNVIDIA H100, driver 13.1\nBF16\nshape";

    @TempDir
    private Path directory;

    private TrialCache cache() {
        return new TrialCache(Map.of("ISOBAR_CACHE", directory.toString()), "attention", "");
    }

    @Test
    void resultsAreReadForTheirKey() throws IOException {
        AttentionTimes times = new AttentionTimes(0.0123, 1e-4);
        ProductTimes product = new ProductTimes("00ff", 1e-4, 0.0123);
        List<String> notes = new ArrayList<>();
        cache().write(KEY, times.text(), notes::add);
        assertEquals(Optional.of(times), cache().read(KEY).flatMap(AttentionTimes::parse));
        assertEquals(Optional.of(product), ProductTimes.parse(product.text()));
        assertEquals(Optional.empty(), ProductTimes.parse(times.text()));
        assertEquals(Optional.empty(), AttentionTimes.parse("fast slow"));
        assertEquals(Optional.empty(), cache().read(KEY.replace("driver 13.1", "driver 13.2")));
        assertEquals(Optional.empty(), cache().read(KEY.replace("9.19.0", "9.20.0")));
        List<Path> files;
        try (Stream<Path> all = Files.list(directory.resolve("attention"))) {
            files = all.toList();
        }
        assertEquals(1, files.size());
        byte[] sound = Files.readAllBytes(files.getFirst());
        for (int at = 0; at < sound.length; at++) {
            byte[] damaged = sound.clone();
            damaged[at] ^= 1;
            Files.write(files.getFirst(), damaged);
            assertEquals(Optional.empty(), cache().read(KEY), "byte " + at);
            Files.write(files.getFirst(), Arrays.copyOf(sound, at));
            assertEquals(Optional.empty(), cache().read(KEY), at + " bytes");
        }
        assertTrue(notes.isEmpty(), notes::toString);
    }

    @Test
    void whatCannotBeWrittenIsNoted() throws IOException {
        List<String> notes = new ArrayList<>();
        cache().write(KEY, "result", notes::add);
        try (Stream<Path> all = Files.list(directory.resolve("attention"))) {
            Path file = all.findFirst().orElseThrow();
            Files.delete(file);
            Files.createDirectories(file.resolve("in the way"));
            cache().write(KEY, "result", notes::add);
            assertEquals(Optional.empty(), cache().read(KEY));
            assertEquals(1, notes.size(), notes::toString);
            assertTrue(notes.getFirst().startsWith("The trial of attention is repeated at each start, because " + file
                + " cannot be written: "), notes::toString);
        }
    }

    @Test
    void withoutADirectoryNothingIsKept() {
        List<String> notes = new ArrayList<>();
        TrialCache none = new TrialCache(Map.of(), "products", ", so that another run may have other bits");
        none.write(KEY, AttentionTimes.NONE.text(), notes::add);
        assertEquals(List.of("The trial of products is repeated at each start, because no cache directory can be "
            + "written, so that another run may have other bits"), notes);
        assertEquals(Optional.empty(), none.read(KEY));
    }
}
