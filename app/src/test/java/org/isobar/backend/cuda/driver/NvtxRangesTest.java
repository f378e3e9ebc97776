package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.isobar.device.ProfilerRanges;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranges and profiler calls, recorded by a stub library. */
class NvtxRangesTest {
    private static final String RECORDER = """
        #include <string.h>
        static char record[4096];
        static int note(const char* what, const char* name) {
            strcat(strcat(strcat(record, what), name), ";");
            return -2;
        }
        int nvtxRangePushA(const char* name) { return note("push ", name); }
        int nvtxRangePop(void) { return note("pop", ""); }
        int cuProfilerStart(void) { return note("start", ""); }
        int cuProfilerStop(void) { return note("stop", ""); }
        int recorded(char* text, int capacity) { strncpy(text, record, capacity); return 0; }
        """;

    @Test
    @Tag("simulated") // needs a C compiler, like the simulated machine
    void rangesNestInTheProfilersWindow(@TempDir Path directory) throws Exception {
        Path source = Files.writeString(directory.resolve("recorder.c"), RECORDER);
        Path library = directory.resolve("recorder.so");
        Process compiler = new ProcessBuilder("gcc", "-shared", "-fPIC", "-o", library.toString(), source.toString())
            .inheritIO().start();
        assertTrue(compiler.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, compiler.exitValue());
        Optional<SystemLibrary> recorder = SystemLibrary.open(library.toString());
        ProfilerRanges ranges = new NvtxRanges(recorder, recorder);
        ranges.startProfiler();
        try (ProfilerRanges.Range step = ranges.open("step 1"); ProfilerRanges.Range forward = ranges.open("forward")) {
            assertTrue(step != null && forward != null);
        }
        ranges.open("x".repeat(1000)).close();
        ranges.stopProfiler();
        assertEquals("start;push step 1;push forward;pop;pop;push " + "x".repeat(127) + ";pop;stop;",
            recorder.orElseThrow().text("recorded").orElseThrow());
    }

    @Test
    void withoutLibrariesNothingIsMarked() {
        ProfilerRanges ranges = new NvtxRanges(Optional.empty(), SystemLibrary.open("libno-such-library.so.0"));
        assertDoesNotThrow(() -> {
            ranges.startProfiler();
            ranges.open("forward").close();
            ranges.stopProfiler();
        });
    }
}
