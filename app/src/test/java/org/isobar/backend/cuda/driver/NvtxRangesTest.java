package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.isobar.device.ProfilerRanges;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranges and profiler calls, recorded by a stub library. */
class NvtxRangesTest {
    /** Pushes of names that begin with "both" wait for each other before they read their names. */
    private static final String RECORDER = """
        #include <pthread.h>
        #include <sched.h>
        #include <stdatomic.h>
        #include <string.h>
        static char record[4096];
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static atomic_int together;
        static int note(const char* what, const char* name) {
            pthread_mutex_lock(&lock);
            strcat(strcat(strcat(record, what), name), ";");
            pthread_mutex_unlock(&lock);
            return -2;
        }
        int nvtxRangePushA(const char* name) {
            if (strncmp(name, "both", 4) == 0) {
                for (together++; together < 2; sched_yield()) { }
            }
            return note("push ", name);
        }
        int nvtxRangePop(void) { return note("pop", ""); }
        int cuProfilerStart(void) { return note("start", ""); }
        int cuProfilerStop(void) { return note("stop", ""); }
        int recorded(char* text, int capacity) { strncpy(text, record, capacity); return 0; }
        """;

    /** Compiles the recorder. Each test has its own, because a library stays loaded. */
    private static Optional<SystemLibrary> recorder(Path directory) throws Exception {
        Path source = Files.writeString(directory.resolve("recorder.c"), RECORDER);
        Path library = directory.resolve("recorder.so");
        Process compiler = new ProcessBuilder("gcc", "-shared", "-fPIC", "-o", library.toString(), source.toString())
            .inheritIO().start();
        assertTrue(compiler.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, compiler.exitValue());
        return SystemLibrary.open(library.toString());
    }

    @Test
    @Tag("simulated") // needs a C compiler, like the simulated machine
    void rangesNestInTheProfilersWindow(@TempDir Path directory) throws Exception {
        Optional<SystemLibrary> recorder = recorder(directory);
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

    /** As the threads of the data loader and of the checkpoint writer do. */
    @Test
    @Tag("simulated")
    @Timeout(60)
    void twoThreadsOpenRangesAtTheSameTime(@TempDir Path directory) throws Exception {
        Optional<SystemLibrary> recorder = recorder(directory);
        ProfilerRanges ranges = new NvtxRanges(recorder, Optional.empty());
        Thread writer = Thread.ofPlatform().daemon().start(() -> ranges.open("both: write"));
        ranges.open("both: read");
        writer.join();
        String record = recorder.orElseThrow().text("recorded").orElseThrow();
        assertEquals(List.of("push both: read", "push both: write"), Stream.of(record.split(";")).sorted().toList());
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
