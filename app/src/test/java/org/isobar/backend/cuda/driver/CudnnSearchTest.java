package org.isobar.backend.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Optional;

import org.isobar.backend.cuda.SimulatedCudnn;
import org.isobar.backend.cuda.driver.LibraryInfo.State;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What {@code doctor} finds of cuDNN: by {@code CUDNN_PATH}, in a version that is new enough. */
@Tag("simulated")
class CudnnSearchTest {
    private static LibraryInfo inspect(Map<String, String> environment) {
        return LibrarySearch.inspect(CudaComponent.CUDNN, environment);
    }

    @Test
    void theLibraryIsFoundWhereTheEnvironmentSays() {
        LibraryInfo found = inspect(SimulatedCudnn.environment());
        assertEquals(State.FOUND, found.state());
        assertEquals(Optional.of("9.19.0"), found.version());
        assertEquals(SimulatedCudnn.home().resolve("lib/libcudnn.so.9").normalize(), found.file().orElseThrow());
        assertEquals(State.MISSING, inspect(Map.of()).state());
    }

    @Test
    void anOldLibraryIsOfTheWrongVersion() {
        SimulatedCudnn.version(91002, () -> {
            LibraryInfo old = inspect(SimulatedCudnn.environment());
            assertEquals(State.WRONG, old.state());
            assertEquals(Optional.of("9.10.2"), old.version());
        });
    }
}
