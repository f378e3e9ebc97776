package org.isobar.forecast;

import java.util.List;

import org.isobar.fault.UserException;

/**
 * Which forecasts are drawn as maps.
 *
 * @param variables names of variables
 * @param steps     numbers of model steps
 */
public record PictureRequest(List<String> variables, List<Integer> steps) {
    /** No pictures. */
    public static final PictureRequest NONE = new PictureRequest(List.of(), List.of());

    /**
     * Checks that there are such forecasts.
     *
     * @throws UserException if there are not
     */
    void require(List<String> forecastNames, int leadSteps) {
        variables.stream().filter(name -> !forecastNames.contains(name)).findFirst().ifPresent(name -> {
            throw new UserException("--pictures " + name + ": the model forecasts "
                + String.join(", ", forecastNames));
        });
        steps.stream().filter(step -> step < 1 || step > leadSteps).findFirst().ifPresent(step -> {
            throw new UserException("--picture_steps " + step + ": the forecasts have the steps 1 to " + leadSteps);
        });
    }
}
