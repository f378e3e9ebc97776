package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.List;

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
public final class StepChecks {
    private static final int ROUNDS = 5;
    private static final int WARMUP = 10;
    private static final int STEPS = 15;
    private static final List<Shape> SHAPES = List.of(new Shape("[64, 128]", 192, 6, 6, 4, "none"),
        new Shape("[64, 128]", 192, 6, 6, 4, "bf16"), new Shape("[96, 192]", 256, 4, 8, 2, "none"),
        new Shape("[128, 256]", 320, 3, 5, 1, "bf16"), new Shape("[64, 128]", 256, 8, 4, 8, "none"),
        new Shape("[192, 384]", 192, 4, 6, 1, "none"));

    private StepChecks() { }

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
     * Measures and predicts; rounds over all sizes are interleaved, and the median round counts. As in calibration, the
     * first round does not, because compilers work beside it.
     *
     * @param preset any preset that is trained with synthetic data
     */
    public static List<Comparison> run(Device device, ConfigRequest preset, Machine machine) {
        double[][] seconds = new double[SHAPES.size()][ROUNDS];
        for (int round = -1; round < ROUNDS; round++) {
            for (int i = 0; i < SHAPES.size(); i++) {
                double median = LayoutSteps.median(SHAPES.get(i).config(preset), device,
                    Communicators.alone(device.ops().memory()::copy), WARMUP, STEPS);
                if (round >= 0) {
                    seconds[i][round] = median;
                }
            }
        }
        List<Comparison> all = new ArrayList<>();
        for (int i = 0; i < SHAPES.size(); i++) {
            RunConfig config = SHAPES.get(i).config(preset);
            PlanRequest request = new PlanRequest(config, machine, Program.ISOBAR, 1, PlanRequest.Fixed.NOTHING);
            double predicted = Planner.predict(request, new PlanLayout(1, 1, 1, "", SHAPES.get(i).batch, 1,
                config.training().ampMode(), config.model().recompute(), false)).stepSeconds();
            all.add(new Comparison(SHAPES.get(i).toString(), "ms", 1e3 * predicted,
                1e3 * Spread.of(seconds[i]).median()));
        }
        return all;
    }
}
