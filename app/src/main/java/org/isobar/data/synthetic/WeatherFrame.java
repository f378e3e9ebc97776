package org.isobar.data.synthetic;

import java.util.EnumMap;
import java.util.Map;

import org.isobar.data.Era5Variable;

/**
 * Computes the twenty fields of a {@link SyntheticWeather} at one time; frames may be computed in any order. Waves
 * determine pressure and balanced winds at each level, the winds advect heat and moisture, and the sun heats the
 * ground. Holds the memory of one frame. Not thread-safe.
 */
final class WeatherFrame {
    private static final double GEOPOTENTIAL_PER_PASCAL = 0.818; // at 1000 hPa: R T / p, m2/s2 per Pa
    private static final double LAPSE_RATE = 0.0065; // K/m
    private static final double FRICTION_TURN = Math.toRadians(22); // of the surface wind, towards low pressure
    private static final double WARMEST_HOUR = 14.5;
    private static final double HEAT_MEMORY = 48; // hours
    private static final double WATER_MEMORY = 72;
    private static final double VAPOUR_COLUMN = 13.5; // kg/m2 of a column whose air at 850 hPa is saturated at 273 K
    private static final double LIFT = 0.4; // increase of log humidity for each standard deviation of poleward wind

    private final SyntheticWeather weather;
    private final SphereGrid grid;
    private final WaveField waves;
    private final Advection advection;
    private final ObservationNoise noise;
    private final Map<Era5Variable, float[]> fields = new EnumMap<>(Era5Variable.class);
    private final float[] psi;
    private final float[] byLatitude;
    private final float[] byLongitude;
    private final float[] heat;
    private final float[] water;
    private final float[] carried;

    WeatherFrame(SyntheticWeather weather) {
        this.weather = weather;
        grid = weather.grid();
        waves = new WaveField(grid, weather.waves());
        advection = new Advection(grid);
        noise = new ObservationNoise(weather.seed());
        for (Era5Variable variable : Era5Variable.values()) {
            fields.put(variable, new float[grid.points()]);
        }
        psi = new float[grid.points()];
        byLatitude = new float[grid.points()];
        byLongitude = new float[grid.points()];
        heat = new float[grid.points()];
        water = new float[grid.points()];
        carried = new float[grid.points()];
    }

    /** The field of a variable, (height, width), as computed last. */
    float[] field(Era5Variable variable) {
        return fields.get(variable);
    }

    /** Computes the state of the given frame, noise included. */
    void moveTo(long frame) {
        computeState(frame);
        for (Era5Variable variable : Era5Variable.values()) {
            noise.add(frame, variable, field(variable));
        }
    }

    /** Computes the state of the given frame without noise: the best possible forecast of it. */
    void computeState(long frame) {
        double hours = (double) frame * SyntheticWeather.STEP_HOURS;
        double season = weather.season(frame);
        SyntheticWeather.Means means = weather.means();
        waves.moveTo(hours);
        balance(Level.L500, means.z500(), means.wind500(), season,
            field(Era5Variable.Z500), field(Era5Variable.U500), field(Era5Variable.V500));
        balance(Level.L850, means.z850(), means.wind850(), season,
            field(Era5Variable.Z850), field(Era5Variable.U850), field(Era5Variable.V850));
        balance(Level.L1000, means.z1000(), means.wind1000(), season,
            field(Era5Variable.Z1000), field(Era5Variable.U1000), field(Era5Variable.V1000));
        waves.synthesize(Level.L50, psi, byLatitude, byLongitude);
        geopotential(means.z50(), season, field(Era5Variable.Z50));
        carry(means.t500(), means.q500(), season, Era5Variable.U500, Era5Variable.V500, Era5Variable.T500);
        relativeHumidity(Era5Variable.T500, Era5Variable.V500, Era5Variable.R500);
        carry(means.t850(), means.q850(), season, Era5Variable.U850, Era5Variable.V850, Era5Variable.T850);
        relativeHumidity(Era5Variable.T850, Era5Variable.V850, Era5Variable.R850);
        temperatureAtGround(hours, season);
        pressureAndVapour();
        windAtGround();
    }

    /** Computes geopotential and wind of a level; u is -1/a dpsi/dlat and v is 1/(a cos lat) dpsi/dlon. */
    private void balance(Level level, Climate.Seasonal z, Climate.Seasonal wind, double season,
                         float[] geopotential, float[] u, float[] v) {
        waves.synthesize(level, psi, byLatitude, byLongitude);
        geopotential(z, season, geopotential);
        wind.at(season, u);
        for (int j = 0; j < grid.height(); j++) {
            float perLatitude = (float) (-1 / SphereGrid.EARTH_RADIUS);
            float perLongitude = (float) (1 / (SphereGrid.EARTH_RADIUS * Math.cos(grid.latitude(j))));
            for (int p = j * grid.width(); p < (j + 1) * grid.width(); p++) {
                u[p] += perLatitude * byLatitude[p];
                v[p] = perLongitude * byLongitude[p];
            }
        }
    }

    /** Computes the mean geopotential plus f psi, which is in geostrophic balance with the wind of the waves. */
    private void geopotential(Climate.Seasonal z, double season, float[] geopotential) {
        z.at(season, geopotential);
        for (int j = 0; j < grid.height(); j++) {
            float f = (float) grid.coriolis(j);
            for (int p = j * grid.width(); p < (j + 1) * grid.width(); p++) {
                geopotential[p] += f * psi[p];
            }
        }
    }

    /**
     * Computes temperature of a level, and its specific humidity in {@link #carried}. {@link #heat} then holds the mean
     * temperature of the level.
     */
    private void carry(Climate.Seasonal temperature, Climate.Seasonal moisture, double season,
                       Era5Variable u, Era5Variable v, Era5Variable result) {
        temperature.at(season, heat);
        moisture.at(season, water);
        advection.carry(field(u), field(v),
            new Advection.Tracer(heat, HEAT_MEMORY, field(result)),
            new Advection.Tracer(water, WATER_MEMORY, carried));
    }

    /**
     * Computes relative humidity: specific humidity divided by saturation, increased where air rises, which is ahead of
     * troughs, where the wind blows polewards. A smooth function limits it to 100 %.
     */
    private void relativeHumidity(Era5Variable temperature, Era5Variable north, Era5Variable result) {
        float[] t = field(temperature);
        float[] v = field(north);
        float[] humidity = field(result);
        for (int j = 0; j < grid.height(); j++) {
            double lift = LIFT / north.spread() * Math.tanh(grid.latitude(j) / 0.25);
            for (int p = j * grid.width(); p < (j + 1) * grid.width(); p++) {
                double ratio = carried[p] / Climate.saturation(t[p]) * Math.exp(lift * v[p]);
                double square = ratio * ratio;
                humidity[p] = (float) (100 * ratio / Math.sqrt(Math.sqrt(1 + square * square)));
            }
        }
    }

    private void temperatureAtGround(double hours, double season) {
        float[] t2m = field(Era5Variable.T2M);
        float[] t850 = field(Era5Variable.T850);
        float[] land = weather.climate().land();
        float[] elevation = weather.climate().elevation();
        weather.means().surface().at(season, t2m);
        double day = 2 * Math.PI * (hours - WARMEST_HOUR) / 24;
        for (int i = 0; i < grid.width(); i++) {
            float sun = (float) Math.cos(day + grid.longitude(i));
            for (int j = 0; j < grid.height(); j++) {
                int p = j * grid.width() + i;
                float daily = (0.3f + 5 * land[p]) * (float) Math.cos(grid.latitude(j)) * sun;
                t2m[p] += (0.5f + 0.3f * land[p]) * (t850[p] - heat[p]) + daily - (float) LAPSE_RATE * elevation[p];
            }
        }
    }

    private void pressureAndVapour() {
        float[] elevation = weather.climate().elevation();
        float[] z1000 = field(Era5Variable.Z1000);
        float[] t2m = field(Era5Variable.T2M);
        float[] mslp = field(Era5Variable.MSLP);
        float[] sp = field(Era5Variable.SP);
        float[] tcwv = field(Era5Variable.TCWV);
        for (int p = 0; p < mslp.length; p++) {
            mslp[p] = 100_000 + z1000[p] / (float) GEOPOTENTIAL_PER_PASCAL;
            double column = t2m[p] + LAPSE_RATE * elevation[p] / 2;
            double ratio = Climate.barometric(elevation[p], column);
            sp[p] = (float) (mslp[p] * ratio);
            tcwv[p] = (float) (VAPOUR_COLUMN * carried[p] * ratio * ratio);
        }
    }

    /** Computes the wind at 10 m: that at 1000 hPa, slowed and turned towards low pressure by friction. */
    private void windAtGround() {
        float[] land = weather.climate().land();
        float[] u1000 = field(Era5Variable.U1000);
        float[] v1000 = field(Era5Variable.V1000);
        float[] u10 = field(Era5Variable.U10);
        float[] v10 = field(Era5Variable.V10);
        for (int j = 0; j < grid.height(); j++) {
            double turn = FRICTION_TURN * Math.tanh(grid.latitude(j) / 0.25);
            float cos = (float) Math.cos(turn);
            float sin = (float) Math.sin(turn);
            for (int p = j * grid.width(); p < (j + 1) * grid.width(); p++) {
                float drag = 0.95f - 0.35f * land[p];
                u10[p] = drag * (cos * u1000[p] - sin * v1000[p]);
                v10[p] = drag * (sin * u1000[p] + cos * v1000[p]);
            }
        }
    }
}
