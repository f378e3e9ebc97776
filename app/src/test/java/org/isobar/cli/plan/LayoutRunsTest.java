package org.isobar.cli.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.fault.UserException;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Program;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.report.Comparison;
import org.isobar.plan.report.ValidationTable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The part of {@code plan --validate_ranks} that surrounds the runs, with a script that writes what runs would. */
class LayoutRunsTest {
    /** Writes a run of 200 steps: of the last 120, 61 take half a second; those before take 0.1 s. */
    private static final String SCRIPT = """
        config=$1; shift
        for word; do
            case $word in
                --nproc_per_node=*) ranks=${word#*=};;
                --expdir=*) logs=${word#*=};;
                --tensor_parallel=*) tp=${word#*=};;
                --context_parallel=*) cp=${word#*=};;
            esac
        done
        run=$logs/demo/${ranks}MP/00
        mkdir -p "$run"
        cp "$config" "$run/config.yaml"
        {
            echo "Setting DP = $((ranks / tp / cp)), TP = $tp, CP = $cp, PP = 1"
            echo "Time taken for epoch 1 is 1.0 sec, avg 4.0 samples/sec"
        } > "$run/out.log"
        {
            echo '{"kind":"run","time":"2026-01-01T00:00:00Z","configuration":{},"layout":{},"environment":{},' \\
                '"memory_planned":{},"training":{}}'
            for ((i = 0; i < 200; i++)); do
                seconds=0.5
                if ((i < 80)); then seconds=0.1; elif ((i >= 141)); then seconds=7.5; fi
                echo '{"kind":"step","steps":1,"seconds":'$seconds'}'
            done
        } > "$run/metrics.jsonl"
        """;
    @TempDir
    private Path directory;

    private static PlanRequest request(int ranks) {
        return new PlanRequest(ConfigLoader.load(new ConfigRequest(Path.of("../config/ViT.yaml"), "mp", Map.of())
            .with("global_batch_size", "64")), MachineFile.load("perlmutter-a100-40"), Program.ISOBAR, ranks,
            PlanRequest.Fixed.NOTHING);
    }

    private LayoutRuns runs(String script, PrintWriter progress) throws IOException {
        Path file = Files.writeString(directory.resolve("runs.sh"), script);
        return new LayoutRuns(List.of("bash", file.toString(), "../config/ViT.yaml"), 1, progress);
    }

    @Test
    void eachLayoutOfEachModelIsComparedByTheMedianOfItsLastSteps() throws IOException {
        StringWriter progress = new StringWriter();
        List<List<Comparison>> models = runs(SCRIPT, new PrintWriter(progress))
            .compare(MachineFile.load("cpu-2-cores"));
        assertEquals(16, progress.toString().lines().filter(line -> line.startsWith("Round 1 of 1: ")).count());
        assertEquals(16, progress.toString().lines().filter(line -> line.endsWith(", measured 8.000")).count());
        assertEquals(List.of(8, 8), models.stream().map(List::size).toList());
        models.forEach(model -> model.forEach(run -> {
            assertEquals(4 / 0.5, run.measured(), 1e-12);
            assertTrue(run.predicted() > 0, run::toString);
        }));
        assertEquals("demo, tp 1 cp 4 dp 1 order tp-cp-dp", models.getFirst().getLast().what());

        String page = ValidationTable.of(request(16), request(16), Optional.empty(), Optional.of(models), "here");
        assertEquals(16, page.lines().filter(line -> line.matches("\\| (demo|larger), tp \\d.* 8\\.000 samples/s .*"))
            .count(), page);
        assertTrue(page.contains(", order of 0 of 0 pairs right |"), page);
    }

    @Test
    void aRunThatFailsIsNamed() {
        UserException failure = assertThrows(UserException.class, () -> runs("echo no memory; exit 3",
            new PrintWriter(new StringWriter())).compare(MachineFile.load("cpu-2-cores")));
        assertEquals("--validate_ranks: the run of demo, tp 1 cp 1 dp 2 failed: status 3: no memory",
            failure.getMessage());
    }
}
