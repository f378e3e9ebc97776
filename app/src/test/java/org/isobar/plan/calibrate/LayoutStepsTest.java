package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.backend.host.GridRanks;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Program;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.report.Comparison;
import org.isobar.plan.report.ValidationTable;
import org.junit.jupiter.api.Test;

/** Steps of two ranks in each layout, and comparisons of such times with predictions. */
class LayoutStepsTest {
    private static ConfigRequest preset(Map<String, String> environment) {
        return new ConfigRequest(Path.of("../config/ViT.yaml"), "demo", environment);
    }

    @Test
    void aJobMeasuresEachOfItsLayouts() throws Exception {
        LayoutSteps.Model model = new LayoutSteps.Model("small", 32, 2, 1);
        List<LayoutSteps.Time> times = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, 2)),
            (device, job) -> {
                try (LayoutSteps steps = new LayoutSteps(device, job,
                    preset(GridRanks.environment(job.rank(), 2)), List.of(model), 6)) {
                    steps.warmUp();
                    steps.round();
                    return steps.times();
                }
            }).getFirst();
        assertEquals(List.of(new LayoutSteps.Time("small", 1, 1, 2, 0), new LayoutSteps.Time("small", 2, 1, 1, 0),
            new LayoutSteps.Time("small", 1, 2, 1, 0)), times.stream().map(time ->
                new LayoutSteps.Time(time.model(), time.tp(), time.cp(), time.dp(), 0)).toList());
        assertTrue(times.stream().allMatch(time -> time.seconds() > 0), times::toString);
    }

    @Test
    void timesAreComparedAsSpeedsOfTheFourSamplesOfAStep() {
        List<LayoutSteps.Time> times = Stream.of("demo", "larger").flatMap(model -> Stream.of(
            new LayoutSteps.Time(model, 2, 1, 1, 0.5), new LayoutSteps.Time(model, 1, 2, 2, 0.8))).toList();
        List<List<Comparison>> models = LayoutSteps.compare(times, preset(Map.of()), MachineFile.load("cpu-2-cores"));
        assertEquals(List.of(List.of("demo, tp 2 cp 1 dp 1 order tp-cp-dp", "demo, tp 1 cp 2 dp 2 order tp-cp-dp"),
            List.of("larger, tp 2 cp 1 dp 1 order tp-cp-dp", "larger, tp 1 cp 2 dp 2 order tp-cp-dp")),
            models.stream().map(rows -> rows.stream().map(Comparison::what).toList()).toList());
        models.forEach(rows -> {
            assertEquals(List.of(8.0, 5.0), rows.stream().map(Comparison::measured).toList());
            assertTrue(rows.stream().allMatch(row -> row.predicted() > 0), rows::toString);
        });
        String page = ValidationTable.of(request(), request(), Optional.empty(), Optional.of(models), "here");
        assertEquals(2, page.lines().filter(line -> line.matches("\\| (demo|larger), tp 2.* 8\\.000 samples/s .*"))
            .count(), page);
        assertTrue(page.contains(" of 2 pairs right |"), page);
    }

    private static PlanRequest request() {
        return new PlanRequest(ConfigLoader.load(new ConfigRequest(Path.of("../config/ViT.yaml"), "mp", Map.of())
            .with("global_batch_size", "64")), MachineFile.load("perlmutter-a100-40"), Program.ISOBAR, 16,
            PlanRequest.Fixed.NOTHING);
    }
}
