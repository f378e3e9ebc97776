package org.example;

import java.nio.file.Path;
import java.util.Arrays;

import org.isobar.forecast.Forecaster;

/** Forecasts five days from the same weather everywhere, and prints the temperature at the first grid point. */
public final class FiveDays {
    public static void main(String[] arguments) {
        try (Forecaster model = Forecaster.open(Path.of(arguments[0]))) {
            int pixels = model.grid().latitudes().size() * model.grid().longitudes().size();
            float[] fields = new float[model.inputs().size() * pixels]; // (channels, latitudes, longitudes)
            int t2m = model.inputs().stream().map(channel -> channel.name()).toList().indexOf("t2m");
            Arrays.fill(fields, t2m * pixels, (t2m + 1) * pixels, 288);
            model.forecast(fields, 20, (step, forecast) -> System.out.printf("after %3d h: %.2f %s%n",
                model.leadStep().multipliedBy(step).toHours(), forecast[t2m * pixels],
                model.outputs().get(t2m).unit()));
        }
    }
}
