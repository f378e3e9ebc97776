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
import org.isobar.plan.machine.Machine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The calibration within {@code plan --validate_calibrations}, with a script in its place. */
class PlanValidationTest {
    @TempDir
    private Path directory;

    private Machine calibrated(String script) throws IOException {
        Path file = Files.writeString(directory.resolve("isobar.sh"), script);
        return PlanValidation.calibrated(List.of("bash", file.toString()), new PrintWriter(new StringWriter()));
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
}
