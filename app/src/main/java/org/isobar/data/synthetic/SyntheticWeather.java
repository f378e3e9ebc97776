package org.isobar.data.synthetic;

import java.util.List;

/**
 * A synthetic atmosphere: the climate and waves that all of its frames share. Immutable, so that several
 * {@link WeatherFrame}s can use it concurrently.
 */
final class SyntheticWeather {
    /** Hours from one frame to the next. */
    static final int STEP_HOURS = 6;
    private static final double COLDEST_DAY = 0.05; // of northern winter, as a fraction of the year

    private final int samplesPerYear;
    private final long seed;
    private final SphereGrid grid;
    private final Climate climate;
    private final List<Wave> waves;
    private final Means means;

    /** The seasonal mean state; see {@link Climate}. */
    record Means(Climate.Seasonal wind1000, Climate.Seasonal wind850, Climate.Seasonal wind500,
                 Climate.Seasonal z1000, Climate.Seasonal z850, Climate.Seasonal z500, Climate.Seasonal z50,
                 Climate.Seasonal surface, Climate.Seasonal t850, Climate.Seasonal t500,
                 Climate.Seasonal q850, Climate.Seasonal q500) { }

    /** Creates the atmosphere of a configuration. */
    SyntheticWeather(SyntheticConfig config) {
        samplesPerYear = config.samplesPerYear();
        seed = config.seed();
        grid = new SphereGrid(config.height(), config.width(),
            WaveSpectrum.maxWave(config.height(), config.width()));
        climate = new Climate(grid, seed);
        waves = WaveSpectrum.weather(grid, seed);
        means = new Means(climate.wind1000(), climate.wind850(), climate.wind500(),
            climate.geopotential1000(), climate.geopotential850(), climate.geopotential500(),
            climate.geopotential50(), climate.surfaceTemperature(), climate.temperature850(),
            climate.temperature500(), climate.moisture850(), climate.moisture500());
    }

    SphereGrid grid() {
        return grid;
    }

    Climate climate() {
        return climate;
    }

    List<Wave> waves() {
        return waves;
    }

    Means means() {
        return means;
    }

    long seed() {
        return seed;
    }

    /** Season of a frame: +1 in the northern summer, -1 in the northern winter. A file is always one year. */
    double season(long frame) {
        return -Math.cos(2 * Math.PI * ((double) frame / samplesPerYear - COLDEST_DAY));
    }
}
