package org.isobar.cli.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.isobar.fault.UserException;
import org.isobar.plan.calibrate.CheckedTimes;
import org.isobar.plan.calibrate.LayoutSteps;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code plan --validate} has other processes measure, with a script in their place. */
class PlanValidationTest {
    @TempDir
    private Path directory;

    private final PrintWriter out = new PrintWriter(new StringWriter());

    private List<String> program(String script) throws IOException {
        return List.of("bash", Files.writeString(directory.resolve("isobar.sh"), script).toString());
    }

    private PlanValidation.Round calibrated(boolean ranks, String script) throws IOException {
        return PlanValidation.calibrated(program(script), ranks, out);
    }

    @Test
    void machineAndTimesAreReadFromTheFilesThatTheCalibrationWrites() throws IOException {
        PlanValidation.Round round = calibrated(true, """
            [ $# = 4 ] && [ "$1 $2" = "bench calibrate" ] || exit 1
            cp src/main/resources/org/isobar/plan/machine/cpu-2-cores.yaml "${3#--out=}"
            echo '{"steps":[0.25],"layouts":[{"model":"demo","tp":1,"cp":1,"dp":4,"seconds":0.5}]}' > "${4#--checks=}"
            """);
        assertEquals("cpu-2-cores", round.machine().name());
        assertEquals(new CheckedTimes(List.of(0.25), List.of(new LayoutSteps.Time("demo", 1, 1, 4, 0.5))),
            round.times());
    }

    @Test
    void withoutRanksOneProcessIsCalibrated() throws IOException {
        assertEquals(List.of(), calibrated(false, """
            [ "$5" = --no_collectives ] || exit 1
            cp src/main/resources/org/isobar/plan/machine/cpu-2-cores.yaml "${3#--out=}"
            echo '{"steps":[0.25],"layouts":[]}' > "${4#--checks=}"
            """).times().layouts());
    }

    @Test
    void aCalibrationThatFailsIsNamed() {
        assertEquals("--validate_calibrations: the calibration failed: status 3: no memory",
            assertThrows(UserException.class, () -> calibrated(true, "echo no memory; exit 3")).getMessage());
    }
}
