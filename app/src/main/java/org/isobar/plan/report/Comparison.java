package org.isobar.plan.report;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

import org.isobar.bench.measure.Spread;

/**
 * A prediction beside what was measured.
 *
 * @param what      what was predicted
 * @param unit      its unit
 * @param predicted prediction
 * @param measured  measurement
 */
public record Comparison(String what, String unit, double predicted, double measured) {
    /** Relative error of the prediction. */
    public double error() {
        return predicted / measured - 1;
    }

    /** The mean of the absolute relative errors. */
    public static double mean(List<Comparison> all) {
        return all.stream().mapToDouble(each -> Math.abs(each.error())).average().orElse(0);
    }

    /** The largest absolute relative error. */
    public static double worst(List<Comparison> all) {
        return all.stream().mapToDouble(each -> Math.abs(each.error())).max().orElse(0);
    }

    /** The median of the absolute relative errors. */
    public static double median(List<Comparison> all) {
        return all.isEmpty() ? 0 : median(all, each -> Math.abs(each.error()));
    }

    /** The mean and the largest absolute relative error, for readers. */
    public static String spread(List<Comparison> all) {
        return String.format(Locale.ROOT, "mean %.1f %%, worst %.1f %%", 100 * mean(all), 100 * worst(all));
    }

    /** The medians over {@code rounds}, all of which compare the same in one order. */
    public static List<Comparison> medians(List<List<Comparison>> rounds) {
        return IntStream.range(0, rounds.getFirst().size()).mapToObj(i -> {
            List<Comparison> same = rounds.stream().map(round -> round.get(i)).toList();
            return new Comparison(same.getFirst().what, same.getFirst().unit, median(same, Comparison::predicted),
                median(same, Comparison::measured));
        }).toList();
    }

    private static double median(List<Comparison> all, ToDoubleFunction<Comparison> value) {
        return Spread.of(all.stream().mapToDouble(value).toArray()).median();
    }
}
