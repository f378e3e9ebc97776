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
import org.isobar.plan.calibrate.LayoutSteps;
import org.isobar.plan.machine.Machine;
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

    private Machine calibrated(String script) throws IOException {
        return PlanValidation.calibrated(program(script), out);
    }

    @Test
    void theMachineIsReadFromTheFileThatTheCalibrationWrites() throws IOException {
        assertEquals("cpu-2-cores", calibrated("""
            [ "$1 $2" = "bench calibrate" ] || exit 1
            cp src/main/resources/org/isobar/plan/machine/cpu-2-cores.yaml "${3#--out=}"
            """).name());
    }

    @Test
    void aCalibrationThatFailsIsNamed() {
        assertEquals("--validate_calibrations: the calibration failed: status 3: no memory",
            assertThrows(UserException.class, () -> calibrated("echo no memory; exit 3")).getMessage());
    }

    @Test
    void jobsOfTwoAndOfFourRanksMeasureTheirLayouts() throws IOException {
        assertEquals(List.of(new LayoutSteps.Time("demo", 1, 1, 2, 0.5), new LayoutSteps.Time("demo", 1, 1, 4, 0.5)),
            PlanValidation.layouts(program("""
                [ "$1 $3 $4 $5" = "launch bench calibrate --layouts" ] || exit 1
                ranks=${2#--nproc_per_node=}
                echo '[{"model":"demo","tp":1,"cp":1,"dp":'$ranks',"seconds":0.5}]' > "${6#--out=}"
                """), out));
    }

    @Test
    void aJobThatFailsIsNamed() {
        assertEquals("--validate_ranks: the measurement of 2 ranks failed: status 3: no memory",
            assertThrows(UserException.class, () -> PlanValidation.layouts(program("echo no memory; exit 3"), out))
                .getMessage());
    }
}
