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
     * The tutorial logs the score of the first channel, u10, which it calls u10m, and draws t2m. Of channels that are
     * chosen by name, all scores are logged. Without t2m, the first channel is drawn.
     *
     * @param forecastNames names of all channels that the model forecasts
     */
    static ChannelTags of(ChannelChoice choice, List<String> forecastNames) {
        int outChannels = forecastNames.size();
        int picture = Math.max(forecastNames.indexOf(T2M), 0);
        if (!choice.isNamed()) {
            List<String> names = new ArrayList<>(forecastNames);
            if (names.getFirst().equals("u10")) {
                names.set(0, "u10m");
            }
            return new ChannelTags(new int[] {0}, names, picture, forecastNames.get(picture));
        }
        return new ChannelTags(IntStream.range(0, outChannels).toArray(), choice.variables().subList(0, outChannels),
            picture, forecastNames.get(picture));
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
