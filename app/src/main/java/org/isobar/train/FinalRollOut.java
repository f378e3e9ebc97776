package org.isobar.train;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.config.RunConfig;
import org.isobar.data.Normalization;
import org.isobar.pretrained.Channel;
import org.isobar.pretrained.ModelConfig;
import org.isobar.train.step.Replica;

/** The line of the log with the scores of a trained model over several steps, in the units of the data. */
final class FinalRollOut {
    private static final int STARTS = 16;
    private static final int DAY = 24; // hours
    private static final List<String> SHOWN = List.of("u10", "t2m", "z500");

    private FinalRollOut() { }

    /** The scores of a trained model. All ranks call this method together. */
    static Optional<RollOutFields.Scores> scores(RunConfig config, Replica replica, LoaderPair data, int steps) {
        return RollOutValidation.run(config, replica, data.rollOuts(), steps, STARTS);
    }

    /** Describes scores after one step, one day and {@code steps} steps. */
    static String line(Optional<RollOutFields.Scores> scores, Normalization normalization, ModelConfig model,
        int steps) {
        return scores.map(known -> line(known, normalization, model, steps)).orElseGet(() -> "No scores of forecasts "
            + "of " + steps + " steps: the validation years are shorter, or the model does not forecast all variables "
            + "that it reads");
    }

    private static String line(RollOutFields.Scores scores, Normalization normalization, ModelConfig model,
        int steps) {
        int hours = model.leadStepHours();
        int[] leads = IntStream.of(1, DAY / hours, steps).filter(lead -> lead >= 1 && lead <= steps).distinct()
            .sorted().toArray();
        List<Channel> channels = model.forecastChannels();
        List<String> names = model.forecastNames();
        int[] shown = SHOWN.stream().mapToInt(names::indexOf).filter(channel -> channel >= 0).toArray();
        return "RMSE of " + scores.starts() + " forecasts at "
            + IntStream.of(leads).mapToObj(lead -> lead * hours + " h").collect(Collectors.joining(", "))
            + " (persistence): " + IntStream.of(shown.length > 0 ? shown : new int[] {0})
            .mapToObj(channel -> numbers(scores, leads, channel, normalization.spreads()[channel],
                channels.get(channel))).collect(Collectors.joining("; "));
    }

    private static String numbers(RollOutFields.Scores scores, int[] leads, int channel, double spread,
        Channel named) {
        String all = IntStream.of(leads).mapToObj(lead -> number(spread * scores.model()[lead - 1][channel])
            + " (" + number(spread * scores.persistence()[lead - 1][channel]) + ")").collect(Collectors.joining(", "));
        return String.join(" ", named.name(), all, named.unit()).strip();
    }

    /** At least two digits. */
    private static String number(double value) {
        return String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : value >= 0.1 ? "%.2f" : "%.2g",
            value);
    }
}
