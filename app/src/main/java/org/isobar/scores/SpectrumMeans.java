package org.isobar.scores;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Zonal power spectra of forecast and truth for each lead and variable, averaged over initial times. Memory does not
 * grow with the number of initial times. Spectra of different variables may be added by different threads.
 */
public final class SpectrumMeans {
    /** Name of the metric of {@link #scores}. */
    public static final String RATIO = "small_scale_power_ratio";

    private final int leads;
    private final int columns;
    private final int variables;
    private final double[] sums; // (leads, variables, 2, wavenumbers): forecast, truth

    /** Which field a spectrum is of. */
    public enum Side { FORECAST, TRUTH }

    /**
     * Allocates the sums.
     *
     * @param columns W, number of points of a row
     */
    public SpectrumMeans(int leads, int variables, int columns) {
        this.leads = leads;
        this.variables = variables;
        this.columns = columns;
        sums = new double[Math.toIntExact((long) leads * variables * 2 * ZonalSpectrum.wavenumbers(columns))];
    }

    /** Number of leads. */
    public int leads() {
        return leads;
    }

    /** Number of wavenumbers. */
    public int wavenumbers() {
        return ZonalSpectrum.wavenumbers(columns);
    }

    /** Whether the last wavenumber is the Nyquist wavenumber, half the number of points of a row. */
    public boolean hasNyquist() {
        return columns % 2 == 0;
    }

    /** The definition of the metric of {@link #scores}. */
    public String definition() {
        return "power of the forecast divided by power of the truth, summed over zonal wavenumbers from "
            + firstSmallScale() + " (wavelengths of at most four cells) to " + (wavenumbers() - 1);
    }

    /** Adds the spectrum of a field, see {@link ZonalSpectrum#power}; {@code lead} is 1 or more. */
    public void add(Side side, int lead, int variable, double[] power) {
        int first = index(side, lead, variable);
        for (int k = 0; k < wavenumbers(); k++) {
            sums[first + k] += power[k];
        }
    }

    /** Adds the sums of other initial times. */
    public void add(SpectrumMeans part) {
        for (int i = 0; i < sums.length; i++) {
            sums[i] += part.sums[i];
        }
    }

    /** All sums, for ranks that score different initial times: the sums over ranks are those of all. */
    public double[] sums() {
        return sums;
    }

    /** The average over a number of initial times, (wavenumbers). */
    public double[] mean(Side side, int lead, int variable, int initialTimes) {
        double[] mean = new double[wavenumbers()];
        for (int k = 0; k < mean.length; k++) {
            mean[k] = sums[index(side, lead, variable) + k] / initialTimes;
        }
        return mean;
    }

    /** Power of the forecast at small scales relative to the truth's: less than 1 if the forecast is blurred. */
    public double smallScaleRatio(int lead, int variable) {
        double forecast = 0;
        double truth = 0;
        for (int k = firstSmallScale(); k < wavenumbers(); k++) {
            forecast += sums[index(Side.FORECAST, lead, variable) + k];
            truth += sums[index(Side.TRUTH, lead, variable) + k];
        }
        return forecast / truth;
    }

    /** {@link #smallScaleRatio} of the model for each variable and lead, without intervals. */
    public List<Score> scores(List<String> names) {
        List<Score> scores = new ArrayList<>();
        for (int variable = 0; variable < variables; variable++) {
            for (int lead = 1; lead <= leads; lead++) {
                scores.add(new Score(ForecastKind.MODEL, names.get(variable), lead, RATIO,
                    new Estimate(smallScaleRatio(lead, variable), Double.NaN, Double.NaN)));
            }
        }
        return scores;
    }

    /** The smallest wavenumber whose wavelength is at most four cells. */
    private int firstSmallScale() {
        return (columns + 3) / 4;
    }

    private int index(Side side, int lead, int variable) {
        int field = Objects.checkIndex(lead - 1, leads) * variables + Objects.checkIndex(variable, variables);
        return (2 * field + side.ordinal()) * wavenumbers();
    }
}
