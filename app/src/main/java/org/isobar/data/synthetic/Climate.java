package org.isobar.data.synthetic;

/**
 * The fields that are constant or depend on the season only: continents, mountains, mean winds, and the mean
 * temperature and moisture at each point. Every seasonal field is {@code mean + s * swing} with s = +1 in the northern
 * summer and -1 in the northern winter. The constants are rounded from ERA5's climate.
 */
final class Climate {
    private static final double GAS_CONSTANT = 287; // J/(kg K), dry air

    /** A field that depends on the season; arrays of shape (height, width). */
    record Seasonal(float[] mean, float[] swing) {
        /** Computes the field at season {@code s}. */
        void at(double s, float[] field) {
            float factor = (float) s;
            for (int p = 0; p < field.length; p++) {
                field[p] = mean[p] + factor * swing[p];
            }
        }
    }

    /** A function of latitude (radians), land fraction and season. */
    interface Formula {
        /** The value. */
        double at(double lat, double land, double s);
    }

    private final SphereGrid grid;
    private final float[] land;
    private final float[] elevation;

    Climate(SphereGrid grid, long seed) {
        this.grid = grid;
        land = new float[grid.points()];
        elevation = new float[grid.points()];
        float[] continents = landscape(seed, "continents");
        float[] mountains = landscape(seed, "mountains");
        for (int p = 0; p < land.length; p++) {
            double lat = grid.latitude(p / grid.width());
            double antarctica = logistic((-lat - Math.toRadians(70)) / Math.toRadians(2.5));
            double continent = logistic((continents[p] - 0.45 - 0.8 * Math.exp(-sq((lat + 0.95) / 0.2))) / 0.12);
            land[p] = (float) Math.max(antarctica, continent);
            elevation[p] = (float) (2600 * antarctica + continent * (1 - antarctica)
                * (200 + 3300 * logistic((mountains[p] - 1) / 0.35)));
        }
    }

    /** Fraction of land at each point, 0 to 1. */
    float[] land() {
        return land;
    }

    /** Height of the ground in metres. */
    float[] elevation() {
        return elevation;
    }

    /** Temperature at 2 m, reduced to sea level, K. */
    Seasonal surfaceTemperature() {
        return seasonal((lat, l, s) -> 299.5 - 1.5 * l - 43 * sq(Math.sin(lat)) + s * Math.sin(lat) * (4 + 12 * l));
    }

    /** Equilibrium temperature of air at rest at 850 hPa, K. */
    Seasonal temperature850() {
        return seasonal(Climate::t850);
    }

    /** Equilibrium temperature of air at rest at 500 hPa, K. */
    Seasonal temperature500() {
        return seasonal((lat, l, s) -> t500(lat, s));
    }

    /** Equilibrium specific humidity of air at rest at 850 hPa, in units of saturation at 273 K. */
    Seasonal moisture850() {
        return seasonal((lat, l, s) -> (belts(lat, s) - 0.2 * l) * saturation(t850(lat, l, s)));
    }

    /** Equilibrium specific humidity of air at rest at 500 hPa, in units of saturation at 273 K. */
    Seasonal moisture500() {
        return seasonal((lat, l, s) -> (belts(lat, s) - 0.15) * saturation(t500(lat, s)));
    }

    /** Eastward mean wind at 1000 hPa, m/s. */
    Seasonal wind1000() {
        return seasonal((lat, l, s) -> u1000(lat, s));
    }

    /** Eastward mean wind at 850 hPa, m/s. */
    Seasonal wind850() {
        return seasonal((lat, l, s) -> u850(lat, s));
    }

    /** Eastward mean wind at 500 hPa, m/s. */
    Seasonal wind500() {
        return seasonal((lat, l, s) -> u500(lat, s));
    }

    /** Geopotential at 1000 hPa in geostrophic balance with the mean wind, m2/s2. */
    Seasonal geopotential1000() {
        return balanced((lat, l, s) -> u1000(lat, s), 900);
    }

    /** Geopotential at 850 hPa, m2/s2. */
    Seasonal geopotential850() {
        return balanced((lat, l, s) -> u850(lat, s), 14300);
    }

    /** Geopotential at 500 hPa, m2/s2. */
    Seasonal geopotential500() {
        return balanced((lat, l, s) -> u500(lat, s), 56600);
    }

    /** Geopotential at 50 hPa, m2/s2, with a vortex over the winter pole. */
    Seasonal geopotential50() {
        return balanced((lat, l, s) -> 4 + bump(lat, 62, 16) * (7 - 15 * s) + bump(lat, -60, 16) * (16 + 13 * s),
            201000);
    }

    /** Water vapour relative to saturation at 273 K: Clausius-Clapeyron with a constant 7 % per kelvin. */
    static double saturation(double kelvin) {
        return Math.exp(0.07 * (kelvin - 273));
    }

    /** Ratio of the pressure at the ground to that at sea level, for a mean temperature of the column. */
    static double barometric(double elevation, double kelvin) {
        return Math.exp(-9.81 * elevation / (GAS_CONSTANT * kelvin));
    }

    private static double t850(double lat, double land, double s) {
        double front = Math.tanh((Math.abs(lat) - 0.75) / 0.16);
        return 288 - 27 * sq(Math.sin(lat)) - 5.5 * front + s * Math.sin(lat) * (4 + 6 * land);
    }

    private static double t500(double lat, double s) {
        double front = Math.tanh((Math.abs(lat) - 0.7) / 0.16);
        return 265 - 20 * sq(Math.sin(lat)) - 5 * front + s * Math.sin(lat) * 4;
    }

    /** Relative humidity by latitude: high at the thermal equator, which moves with the season, and at the fronts. */
    private static double belts(double lat, double s) {
        double shift = 5 * s;
        return 0.7 + 0.3 * bump(lat, shift, 10) - 0.35 * bump(lat, 24 + shift, 11) - 0.35 * bump(lat, -24 + shift, 11)
            + 0.25 * bump(lat, 58, 16) + 0.25 * bump(lat, -58, 16);
    }

    private static double u1000(double lat, double s) {
        return bump(lat, 48 + 3 * s, 12) * (3.5 - 1.5 * s) + bump(lat, -50 + 2 * s, 12) * 7
            - 5.5 * bump(lat, 15 + 3 * s, 11) - 6 * bump(lat, -14 + 3 * s, 11) - 2 * bump(lat, 75, 8)
            - 2.5 * bump(lat, -74, 7);
    }

    private static double u850(double lat, double s) {
        return bump(lat, 46 + 4 * s, 13) * (7.5 - 2.5 * s) + bump(lat, -48 + 3 * s, 13) * 13
            - 6 * bump(lat, 11 + 4 * s, 13) - 4 * bump(lat, -14 + 4 * s, 10);
    }

    private static double u500(double lat, double s) {
        return bump(lat, 40 + 6 * s, 14) * (17 - 6 * s) + bump(lat, -45 + 4 * s, 15) * (21 + 2 * s)
            - 4 * bump(lat, 3 * s, 12);
    }

    private static double bump(double lat, double centre, double width) {
        return Math.exp(-sq((Math.toDegrees(lat) - centre) / width));
    }

    private Seasonal seasonal(Formula formula) {
        float[] mean = new float[grid.points()];
        float[] swing = new float[grid.points()];
        for (int p = 0; p < mean.length; p++) {
            double lat = grid.latitude(p / grid.width());
            double summer = formula.at(lat, land[p], 1);
            double winter = formula.at(lat, land[p], -1);
            mean[p] = (float) ((summer + winter) / 2);
            swing[p] = (float) ((summer - winter) / 2);
        }
        return new Seasonal(mean, swing);
    }

    /** Integrates geostrophic balance, dZ/dlat = -f a u, from the pole; {@code equator} is Z at the equator. */
    private Seasonal balanced(Formula wind, double equator) {
        int fine = 1440;
        double[][] profile = new double[2][fine + 1];
        double step = Math.PI / fine;
        for (int season = 0; season < 2; season++) {
            for (int k = 0; k < fine; k++) {
                double lat = Math.PI / 2 - (k + 0.5) * step;
                double f = 2 * SphereGrid.EARTH_ROTATION * Math.sin(lat);
                profile[season][k + 1] = profile[season][k]
                    + f * SphereGrid.EARTH_RADIUS * wind.at(lat, 0, season == 0 ? -1 : 1) * step;
            }
        }
        return seasonal((lat, l, s) -> {
            double[] z = profile[s < 0 ? 0 : 1];
            return equator - z[fine / 2] + z[(int) Math.round((Math.PI / 2 - lat) / step)];
        });
    }

    private float[] landscape(long seed, String purpose) {
        WaveField field = new WaveField(grid, WaveSpectrum.landscape(grid, seed, purpose));
        field.moveTo(0);
        float[] value = new float[grid.points()];
        field.synthesize(Level.LANDSCAPE, value, new float[value.length], new float[value.length]);
        return value;
    }

    private static double logistic(double x) {
        return 1 / (1 + Math.exp(-x));
    }

    private static double sq(double x) {
        return x * x;
    }
}
