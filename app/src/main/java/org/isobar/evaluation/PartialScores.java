package org.isobar.evaluation;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.scores.FieldMetric;
import org.isobar.scores.ForecastKind;
import org.isobar.scores.ScoreTable;
import org.isobar.scores.SpectrumMeans;
import org.isobar.scores.ZonalSpectrum;

/**
 * Scores and spectra of the forecasts from some initial times.
 *
 * @param table   the scores
 * @param spectra the spectra of the model's forecasts and of the truth
 */
record PartialScores(ScoreTable table, SpectrumMeans spectra) {

    /**
     * Extents of the scores.
     *
     * @param kinds     the forecasts that are scored
     * @param leads     number of leads
     * @param variables Cout
     * @param columns   W
     */
    record Extents(List<ForecastKind> kinds, int leads, int variables, int columns) { }

    /** Scores that are all 0. */
    static PartialScores zero(Extents extents, int initialTimes) {
        return new PartialScores(new ScoreTable(extents.kinds, extents.leads, extents.variables, initialTimes),
            new SpectrumMeans(extents.leads, extents.variables, extents.columns));
    }

    /** Bytes of all numbers of such scores. */
    static long bytes(Extents extents, int initialTimes) {
        long fields = (long) extents.leads * extents.variables;
        return Double.BYTES * fields * ((long) extents.kinds.size() * FieldMetric.values().length * initialTimes
            + 2L * ZonalSpectrum.wavenumbers(extents.columns));
    }

    /** All numbers. Ranks that score different initial times have 0 where another has a number. */
    List<double[]> numbers() {
        return Stream.concat(table.forecasts().stream().map(table::values), Stream.of(spectra.sums())).toList();
    }

    /** Enters the scores of some of the initial times, of which {@code first} is the index of the first. */
    void insert(PartialScores part, int first) {
        table.insert(part.table, first);
        spectra.add(part.spectra);
    }
}
