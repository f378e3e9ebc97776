package org.isobar.bench.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests which programs run in which rounds. The programs are shell scripts that copy a result file. */
class StepPartsTest {
    @TempDir
    private Path directory;

    @Test
    void fusedAttentionRunsInEachRound() throws IOException {
        assertEquals(List.of("step-tiny-fp32-isobar-1 ok", "ready-pytorch ok", "ready-python ok",
            "step-tiny-fp32-pytorch-1 ok", "step-tiny-fp32-python-1 ok", "step-tiny-fp32-isobar-2 ok",
            "step-tiny-fp32-pytorch-2 ok", "step-tiny-fp32-python-2 ok", "step-tiny-bf16 skipped"), parts("echo True"));
    }

    @Test
    void unfusedAttentionRunsInTheFirstRoundOnly() throws IOException {
        List<String> parts = parts("echo False");
        assertEquals(List.of("step-tiny-fp32-python-1 ok"),
            parts.stream().filter(part -> part.startsWith("step-tiny-fp32-python")).toList());
    }

    @Test
    void missingPyTorchIsSkipped() throws IOException {
        List<String> parts = parts("exit 1");
        assertEquals(List.of("ready-python skipped", "step-tiny-fp32-python-1 skipped"),
            parts.stream().filter(part -> part.contains("python")).toList());
    }

    /** Runs the parts with a Python that runs {@code answer}; returns their names and results. */
    private List<String> parts(String answer) throws IOException {
        Path results = Files.createDirectories(directory.resolve("results"));
        Path result = directory.resolve("result.json");
        BenchFiles.write(result, new StepResult("isobar", "steps", "tiny", "fp32",
            new StepResult.Model(List.of(8, 8), 8, 1, 1, 8, 1, 1), 2, 1, 1, 2, 1, List.of(1.0), null,
            new StepResult.Memory(0, 0), List.of(), Map.of()));
        String copy = "for last; do if [ \"$before\" = --json ]; then cp '" + result + "' \"$last\"; fi; "
            + "case $last in --json=*) cp '" + result + "' \"${last#--json=}\"; esac; before=$last; done";
        Path isobar = script("isobar", copy);
        script("pytorch.sh", copy);
        SuiteSetup setup =
            new SuiteSetup(List.of(isobar.toString()), directory, Optional.of(script("python", answer).toString()),
            Optional.of("no bf16"), SuiteSize.REHEARSED, Set.of(), Duration.ofMinutes(1));
        new StepParts(setup, new PartRunner(results, Timing.REHEARSED, setup.budget(), line -> { }), () -> { }).run();
        return BenchFiles.read(results).parts().stream().map(part -> part.name() + " " + part.result()).toList();
    }

    private Path script(String name, String commands) throws IOException {
        Path script = Files.writeString(directory.resolve(name), "#!/bin/bash\n" + commands + "\n");
        return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    }
}
