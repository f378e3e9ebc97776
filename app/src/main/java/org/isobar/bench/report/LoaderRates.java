package org.isobar.bench.report;

import static org.isobar.bench.report.MarkdownTable.number;
import static org.isobar.bench.report.Units.GIGA;
import static org.isobar.bench.report.Units.PERCENT;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

import org.isobar.bench.measure.LoaderFiles;
import org.isobar.bench.measure.LoaderResult;
import org.isobar.bench.measure.Spread;

/** Read rates of all variants over all rounds. */
final class LoaderRates {
    /** Name of the tutorial's variant in results of {@code bench/loader_h5py.py}. */
    static final String TUTORIAL = "the tutorial's access";
    private static final String CONTIGUOUS = LoaderFiles.LAYOUTS.getFirst();

    private final Map<Way, List<Spread>> rounds = new LinkedHashMap<>();

    /** A variant of reading. */
    private record Way(String program, String layout, String name, int threads) { }

    LoaderRates(Collection<LoaderResult> results) {
        List<String> layouts = new ArrayList<>(LoaderFiles.LAYOUTS);
        layouts.addFirst(LoaderResult.MEMORY);
        for (String layout : layouts) {
            results.forEach(result -> result.rates().stream().filter(rate -> rate.layout().equals(layout))
                .forEach(rate -> rounds.computeIfAbsent(
                    new Way(result.program(), layout, rate.way(), rate.threads()), way -> new ArrayList<>())
                    .add(rate.bytes())));
        }
    }

    /** Bytes per second of copies by that many threads: median of the rounds, null if not measured. */
    Double memcpy(int threads) {
        return median(new Way("isobar", LoaderResult.MEMORY, "memcpy", threads));
    }

    /** Bytes per second that Isobar reads from contiguous files with that many workers; null if not measured. */
    Double isobar(int workers) {
        return rounds.keySet().stream().filter(way -> way.program.equals("isobar") && way.layout.equals(CONTIGUOUS)
            && way.name.startsWith(workers + " ")).findFirst().map(this::median).orElse(null);
    }

    /** Bytes per second of the tutorial's access to contiguous files; null if not measured. */
    Double tutorial() {
        return median(new Way("h5py", CONTIGUOUS, TUTORIAL, 1));
    }

    private Double median(Way way) {
        double[] known = rounds.getOrDefault(way, List.of()).stream().filter(Objects::nonNull)
            .mapToDouble(Spread::median).toArray();
        return known.length == 0 ? null : Double.valueOf(Spread.of(known).median());
    }

    /** The table; empty if nothing was measured. */
    String table() {
        if (rounds.isEmpty()) {
            return "";
        }
        MarkdownTable table = new MarkdownTable("file", "program", "way", "threads", "GB/s", "quartiles of rounds",
            "of as many threads' memcpy");
        rounds.forEach((way, spreads) -> {
            Double rate = median(way);
            Double copy = memcpy(way.threads);
            table.row(way.layout, way.program, way.name, String.valueOf(way.threads), number("%.2f", rate, GIGA),
                quartiles(spreads), number("%.0f %%", rate == null || copy == null ? null
                    : Double.valueOf(rate / copy), PERCENT));
        });
        return table.toString();
    }

    private static String quartiles(List<Spread> spreads) {
        return spreads.contains(null) ? number("", null, 1) : String.join(", ", spreads.stream()
            .map(round -> String.format(Locale.ROOT, "%.2f-%.2f", round.lowerQuartile() / GIGA,
                round.upperQuartile() / GIGA)).toList());
    }
}
