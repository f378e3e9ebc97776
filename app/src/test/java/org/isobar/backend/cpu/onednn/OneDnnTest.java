package org.isobar.backend.cpu.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.ops.WriteMode;
import org.junit.jupiter.api.Test;

/** A product leaves its thread as it was. */
class OneDnnTest {
    private static final int BLOCK = 0; // SIG_BLOCK
    private static final int USER_SIGNAL = 10; // SIGUSR1

    @Test
    void signalsThatWereBlockedStaySo() {
        OneDnn.load();
        CompletableFuture<Void> done = CompletableFuture.runAsync(() -> {
            assertEquals(0, blockUserSignal());
            String before = blockedSignals();
            product();
            assertEquals(before, blockedSignals());
            product(); // the place where the mask is kept is used again
            assertEquals(before, blockedSignals());
            assertEquals(1, Long.parseUnsignedLong(before, 16) >>> (USER_SIGNAL - 1) & 1);
        }, task -> new Thread(task, "masked").start());
        done.join();
    }

    private static void product() {
        try (Arena arena = Arena.ofConfined()) {
            Matrix one = Matrix.of(arena.allocateFrom(ValueLayout.JAVA_FLOAT, 3), 1);
            MemorySegment square = arena.allocate(ValueLayout.JAVA_FLOAT);
            OneDnn.product(Matrix.of(square, 1), 1, 1, 1, one, one, WriteMode.OVERWRITE);
            assertEquals(9, square.get(ValueLayout.JAVA_FLOAT, 0));
        }
    }

    /** Those of the calling thread, one bit each, in hexadecimal digits. */
    private static String blockedSignals() {
        try {
            return Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
                .filter(line -> line.startsWith("SigBlk:")).findFirst().orElseThrow().substring(7).strip();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @SuppressWarnings("restricted")
    private static int blockUserSignal() {
        Linker linker = Linker.nativeLinker();
        MethodHandle mask = linker.downcallHandle(linker.defaultLookup().findOrThrow("pthread_sigmask"),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS,
                ValueLayout.ADDRESS));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(128, Long.BYTES);
            set.set(ValueLayout.JAVA_LONG, 0, 1L << (USER_SIGNAL - 1));
            return (int) mask.invokeExact(BLOCK, set, MemorySegment.NULL);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }
}
