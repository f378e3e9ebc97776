package org.isobar.forecast;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the CF conventions name a variable of the tutorial.
 *
 * @param standard its CF standard name
 * @param full     a description
 */
record CfName(String standard, String full) {
    private static final Map<String, CfName> SURFACE = Map.of(
        "u10", new CfName("eastward_wind", "Eastward wind 10 m above ground"),
        "v10", new CfName("northward_wind", "Northward wind 10 m above ground"),
        "t2m", new CfName("air_temperature", "Air temperature 2 m above ground"),
        "sp", new CfName("surface_air_pressure", "Air pressure at the surface"),
        "mslp", new CfName("air_pressure_at_mean_sea_level", "Air pressure at mean sea level"),
        "tcwv", new CfName("atmosphere_mass_content_of_water_vapor", "Total column water vapour"));
    private static final Map<String, CfName> LEVEL = Map.of(
        "u", new CfName("eastward_wind", "Eastward wind"),
        "v", new CfName("northward_wind", "Northward wind"),
        "t", new CfName("air_temperature", "Air temperature"),
        "z", new CfName("geopotential", "Geopotential"),
        "r", new CfName("relative_humidity", "Relative humidity"));
    private static final Pattern AT_LEVEL = Pattern.compile("([utvzr])([1-9]\\d{1,3})");

    /** The names of a channel; empty if it is not one of the tutorial's. */
    static Optional<CfName> of(String channel) {
        Matcher level = AT_LEVEL.matcher(channel);
        if (SURFACE.containsKey(channel) || !level.matches()) {
            return Optional.ofNullable(SURFACE.get(channel));
        }
        CfName variable = LEVEL.get(level.group(1));
        return Optional.of(new CfName(variable.standard, variable.full + " at " + level.group(2) + " hPa"));
    }
}
