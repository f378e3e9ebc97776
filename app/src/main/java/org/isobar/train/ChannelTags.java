package org.isobar.train;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.channels.ChannelChoice;

/**
 * How log, TensorBoard and pictures name the channels that a model forecasts.
 *
 * @param scored  the channels whose scores are logged, by their number
 * @param names   names of all channels, in TensorBoard's tags
 * @param picture number of the channel in pictures
 * @param figure  its name
 */
record ChannelTags(int[] scored, List<String> names, int picture, String figure) {
    private static final String T2M = "t2m";

    /**
     * The names of channels that are chosen by name; else those of the tutorial, which logs the score of u10, calls it
     * u10m, and draws t2m.
     *
     * @param forecastNames names of all channels that the model forecasts
     */
    static ChannelTags of(ChannelChoice choice, List<String> forecastNames) {
        int outChannels = forecastNames.size();
        if (!choice.isNamed()) {
            List<String> names = new ArrayList<>(forecastNames);
            names.set(0, "u10m");
            return new ChannelTags(new int[] {0}, names, Math.min(2, outChannels - 1), T2M);
        }
        List<String> names = choice.variables().subList(0, outChannels);
        int picture = Math.max(names.indexOf(T2M), 0);
        return new ChannelTags(IntStream.range(0, outChannels).toArray(), names, picture, names.get(picture));
    }

    /** The tag of a channel's RMSE. */
    String rmse(int channel) {
        return "RMSE(" + names.get(channel) + ")/valid";
    }

    /** The tag of pictures. */
    String pictures() {
        return "Visualization, " + figure;
    }

    /** The heading of pictures. */
    String heading() {
        return figure.equals(T2M) ? "2m temperature" : figure;
    }
}
