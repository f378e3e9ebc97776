package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.bench.measure.Spread;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.Communicators;
import org.isobar.plan.PlanLayout;
import org.isobar.plan.PlanRequest;
import org.isobar.plan.Planner;
import org.isobar.plan.Program;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.report.Comparison;

/** Steps of one process on this CPU beside their predictions, at sizes that calibration does not measure. */
public final class StepChecks implements RepeatedMeasurement {
    private static final int WARMUP = 3;
    private static final int STEPS = 10;
    private static final List<Shape> SHAPES = List.of(new Shape("[64, 128]", 192, 6, 6, 4, "none"),
        new Shape("[64, 128]", 192, 6, 6, 4, "bf16"), new Shape("[96, 192]", 256, 4, 8, 2, "none"),
        new Shape("[128, 256]", 320, 3, 5, 1, "bf16"), new Shape("[64, 128]", 256, 8, 4, 8, "none"),
        new Shape("[192, 384]", 192, 4, 6, 1, "none"));

    private final Device device;
    private final ConfigRequest preset;
    private final List<List<Double>> seconds = new ArrayList<>(); // by round and shape

    private record Shape(String image, int embed, int depth, int heads, int batch, String precision) {
        private RunConfig config(ConfigRequest preset) {
            return ConfigLoader.load(new ModelSizes(embed, depth, heads, batch).in(preset)
                .set("img_size=" + image).with("amp_mode", precision));
        }

        @Override
        public String toString() {
            return "image " + image + ", " + embed + " channels, " + depth + " blocks, batch " + batch + ", "
                + (precision.equals("none") ? "fp32" : precision);
        }
    }

    /**
     * Measures on {@code device}.
     *
     * @param preset any preset that is trained with synthetic data
     */
    public StepChecks(Device device, ConfigRequest preset) {
        this.device = device;
        this.preset = preset;
    }

    @Override
    public void warmUp() {
        measured(); // compilers work beside it
    }

    @Override
    public void round() {
        seconds.add(measured());
    }

    private List<Double> measured() {
        return SHAPES.stream().map(shape -> LayoutSteps.median(shape.config(preset), device,
            Communicators.alone(device.ops().memory()::copy), WARMUP, STEPS)).toList();
    }

    /** Seconds of each step, the medians of the rounds. */
    public List<Double> seconds() {
        return IntStream.range(0, SHAPES.size())
            .mapToObj(i -> Spread.of(seconds.stream().map(round -> round.get(i)).toList()).median()).toList();
    }

    /**
     * Times of a step that are predicted and that were measured.
     *
     * @param seconds of {@link #seconds()}
     * @param preset  as for the measurement
     */
    public static List<Comparison> compare(List<Double> seconds, ConfigRequest preset, Machine machine) {
        return IntStream.range(0, SHAPES.size()).mapToObj(i -> {
            RunConfig config = SHAPES.get(i).config(preset);
            PlanRequest request = new PlanRequest(config, machine, Program.ISOBAR, 1, PlanRequest.Fixed.NOTHING);
            double predicted = Planner.predict(request, new PlanLayout(1, 1, 1, "", SHAPES.get(i).batch, 1,
                config.training().ampMode(), config.model().recompute(), false)).stepSeconds();
            return new Comparison(SHAPES.get(i).toString(), "ms", 1e3 * predicted, 1e3 * seconds.get(i));
        }).toList();
    }
}
