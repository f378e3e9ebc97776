package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;

import org.isobar.checkpoint.Checkpoint;

/** A checkpoint that a run has left. */
final class TrainedCheckpoint {
    private TrainedCheckpoint() { }

    /** Fails unless every byte of it is as it was written. */
    static void assertSound(Path path) {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertEquals(List.of(), checkpoint.verify());
        }
    }
}
