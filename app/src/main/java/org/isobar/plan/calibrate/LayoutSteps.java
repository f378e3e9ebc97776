package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.List;

import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepBenchmark;
import org.isobar.bench.measure.Timing;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.PlanLayout;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Planner;
import org.isobar.plan.Program;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.report.Comparison;

/** Training steps of a job's ranks on this CPU, in each layout of its processes, and their predictions. */
public final class LayoutSteps implements RepeatedMeasurement, AutoCloseable {
    /** Numbers of ranks that have layouts. */
    public static final List<Integer> RANKS = List.of(2, 4);

    private static final List<Model> MODELS = List.of(new Model("demo", 192, 6, 6), new Model("larger", 384, 8, 4));
    private static final List<Layout> LAYOUTS = List.of(new Layout(1, 1, 2), new Layout(2, 1, 1), new Layout(1, 2, 1),
        new Layout(1, 1, 4), new Layout(2, 1, 2), new Layout(1, 2, 2), new Layout(2, 2, 1), new Layout(1, 4, 1));
    private static final int BATCH = 4;
    /**
     * Steps that do not count, of all models and layouts together: in addition to those of {@link OperationRounds}, for
     * what only ranks that share a model call.
     */
    private static final int COMPILING = 360;
    private static final int WARMUP = 2;
    private static final int STEPS = 12;

    private final Device device;
    private final int compiling;
    private final List<Measured> all;

    /** A model with the images of the preset. */
    record Model(String name, int embed, int heads, int depth) {
        private RunConfig config(ConfigRequest preset, int tp, int cp) {
            return ConfigLoader.load(new ModelSizes(embed, depth, heads, BATCH).in(preset)
                .with("tensor_parallel", "" + tp).with("context_parallel", "" + cp));
        }
    }

    private record Layout(int tp, int cp, int dp) { }

    /**
     * The median step of a model in a layout.
     *
     * @param seconds on rank 0, the median of the rounds
     */
    public record Time(String model, int tp, int cp, int dp, double seconds) { }

    /** What is measured, and the medians of its rounds so far. */
    private record Measured(Model model, Layout layout, RunConfig config, Communicators communicators,
        List<Double> rounds) {
        private Time time() {
            return new Time(model.name, layout.tp, layout.cp, layout.dp,
                Spread.of(rounds).median());
        }
    }

    /**
     * Prepares the measurement of all models in all layouts of the job. All of its ranks do so at the same time.
     *
     * @param preset any preset that is trained with synthetic data, with this rank's environment
     */
    public LayoutSteps(Device device, Communicators job, ConfigRequest preset) {
        this(device, job, preset, MODELS, COMPILING);
    }

    LayoutSteps(Device device, Communicators job, ConfigRequest preset, List<Model> models, int compiling) {
        this.device = device;
        this.compiling = compiling;
        int ranks = job.grid().worldSize();
        all = models.stream().flatMap(model -> LAYOUTS.stream()
            .filter(layout -> layout.tp * layout.cp * layout.dp == ranks).map(layout -> {
                RunConfig config = model.config(preset, layout.tp, layout.cp);
                return new Measured(model, layout, config, job.in(config.grid()), new ArrayList<>());
            })).toList();
    }

    @Override
    public void warmUp() {
        all.forEach(each -> median(each.config, device, each.communicators, compiling / all.size(), 1));
    }

    @Override
    public void round() {
        all.forEach(each -> each.rounds.add(median(each.config, device, each.communicators, WARMUP, STEPS)));
    }

    /** The median steps. */
    public List<Time> times() {
        return all.stream().map(Measured::time).toList();
    }

    @Override
    public void close() {
        all.reversed().forEach(each -> each.communicators.close());
    }

    /** Seconds of this rank's median step. */
    static double median(RunConfig config, Device device, Communicators communicators, int warmup, int steps) {
        return new StepBenchmark(config, device, communicators,
            new StepBenchmark.Plan(warmup, steps, Timing.MEASURED, StepBenchmark.Detail.STEPS)).run(_ -> { })
            .stepSeconds().median();
    }

    /**
     * The samples a second that are predicted and that were measured, by model.
     *
     * @param preset as for the measurement, of one process
     */
    public static List<List<Comparison>> compare(List<Time> times, ConfigRequest preset, Machine machine) {
        return MODELS.stream().map(model -> {
            RunConfig config = model.config(preset, 1, 1);
            return times.stream().filter(time -> time.model.equals(model.name))
                .map(time -> comparison(time, config, machine)).toList();
        }).toList();
    }

    private static Comparison comparison(Time time, RunConfig config, Machine machine) {
        PlanLayout layout = new PlanLayout(time.tp, time.cp, time.dp, ProcessGrid.DEFAULT_ORDER, BATCH / time.dp, 1,
            config.training().ampMode(), config.model().recompute(), false);
        PlanRequest request = new PlanRequest(config, machine, Program.ISOBAR, layout.ranks(),
            PlanRequest.Fixed.NOTHING);
        return new Comparison(time.model + ", " + layout, "samples/s",
            Planner.predict(request, layout).samplesPerSecond(), BATCH / time.seconds);
    }
}
