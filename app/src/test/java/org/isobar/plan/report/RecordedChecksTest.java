package org.isobar.plan.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Program;
import org.isobar.plan.machine.MachineFile;
import org.junit.jupiter.api.Test;

/** Predictions against what others have measured. */
class RecordedChecksTest {
    private static final PlanRequest MP = new PlanRequest(
        ConfigLoader.load(new ConfigRequest(Path.of("../config/ViT.yaml"), "mp", Map.of())),
        MachineFile.load("perlmutter-a100-40"), Program.TUTORIAL, 16, PlanRequest.Fixed.NOTHING);

    @Test
    void theTutorialsRunsArePredictedFromTheProfileOfBase() {
        List<Comparison> runs = RecordedChecks.speeds(MP, 2024);
        assertEquals(2, runs.size());
        assertTrue(Comparison.mean(runs) <= 0.10 && Comparison.worst(runs) <= 0.20, runs::toString);
    }

    @Test
    void theTutorialsMemoryIsPredicted() {
        List<Comparison> runs = RecordedChecks.memory(MP);
        assertEquals(2, runs.size());
        assertTrue(Comparison.worst(runs) <= 0.15, runs::toString);
    }

    @Test
    void collectivesAtNodesThatWereLeftOutAreInterpolated() {
        List<Comparison> all = RecordedChecks.collectives();
        assertEquals(513, all.size());
        assertTrue(Comparison.median(all) <= 0.10, () -> "median " + Comparison.median(all));
    }
}
