package org.isobar.plan;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import org.isobar.bench.measure.Spread;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.yaml.YamlFile;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.plan.machine.Machine;

/**
 * A finished run beside its prediction.
 *
 * @param planned          the prediction
 * @param samplesPerSecond median of the epochs that count
 * @param epochs           number of epochs that this is the median of
 */
public record RunCheck(PlannedLayout planned, double samplesPerSecond, int epochs) {
    private static final Pattern EPOCH = Pattern.compile("Time taken for epoch \\d+ is \\S+ sec, avg (\\S+) samples");
    private static final Pattern GRID = Pattern.compile("Setting DP = (\\d+), TP = (\\d+), CP = (\\d+), PP = 1\\b");

    /** Relative error of the prediction. */
    public double error() {
        return planned.samplesPerSecond() / samplesPerSecond - 1;
    }

    /**
     * Compares all epochs of a run since its last start but the first with the prediction; one epoch is compared alone.
     * The configuration is that of the last start.
     *
     * @param run the run's directory, with {@code config.yaml} and {@code out.log}
     * @throws UserException if it is not the directory of a run that has trained an epoch
     */
    public static RunCheck of(Path run, Machine machine) {
        String log = read(run.resolve("out.log"));
        Optional<MatchResult> start = GRID.matcher(log).results().reduce((_, later) -> later);
        double[] speeds = start.map(grid -> EPOCH.matcher(log.substring(grid.end())).results()
            .mapToDouble(epoch -> Double.parseDouble(epoch.group(1))).toArray()).orElse(new double[0]);
        Path file = run.resolve("config.yaml");
        if (speeds.length == 0 || !Files.isRegularFile(file)) {
            throw new UserException("--check=" + run + ": " + (speeds.length == 0
                ? "its out.log tells of no epoch since the last start" : "it has no config.yaml")
                + "; name the directory of a run, such as logs/demo/1GPU/00");
        }
        MatchResult sizes = start.get();
        int dp = Integer.parseInt(sizes.group(1));
        int tp = Integer.parseInt(sizes.group(2));
        int cp = Integer.parseInt(sizes.group(3));
        RunConfig config = config(file);
        PlanRequest request = new PlanRequest(config, machine, Program.ISOBAR, dp * tp * cp,
            PlanRequest.Fixed.NOTHING);
        PlanLayout layout = new PlanLayout(tp, cp, dp, order(file, dp * tp * cp), config.training().globalBatchSize()
            / dp, config.training().microBatches(), config.training().ampMode(),
            config.model().recompute(), config.training().enableCudaGraphs());
        Spread counted = Spread.of(Arrays.copyOfRange(speeds, speeds.length > 1 ? 1 : 0, speeds.length));
        return new RunCheck(Planner.predict(request, layout), counted.median(), counted.count());
    }

    private static RunConfig config(Path file) {
        return ConfigLoader.load(PlanRequest.ofOneProcess(
            new ConfigRequest(file, new YamlFile(file).names().getFirst(), Map.of())));
    }

    /** The order of the axes that the run's configuration has. */
    private static String order(Path file, int ranks) {
        YamlFile yaml = new YamlFile(file);
        Object order = yaml.preset(yaml.names().getFirst()).containsKey("parallel_order")
            ? yaml.preset(yaml.names().getFirst()).get("parallel_order").raw() : "tp-cp-dp";
        return ranks == 1 ? "" : order.toString();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException failure) {
            throw FileFault.unreadable("log " + file, failure);
        }
    }
}
