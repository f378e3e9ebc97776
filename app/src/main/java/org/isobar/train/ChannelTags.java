package org.isobar.train;

import java.util.List;
import java.util.stream.IntStream;

import org.isobar.data.channels.ChannelChoice;

/**
 * How log, TensorBoard and pictures name the channels that a model forecasts.
 *
 * @param scored  the channels whose scores are written, by their number
 * @param names   their names
 * @param picture number of the channel in pictures
 * @param figure  its name
 */
record ChannelTags(int[] scored, List<String> names, int picture, String figure) {
    private static final String T2M = "t2m";

    /** The names of channels that are chosen by name; else those of the tutorial, which scores u10 and draws t2m. */
    static ChannelTags of(ChannelChoice choice, int outChannels) {
        if (!choice.isNamed()) {
            return new ChannelTags(new int[] {0}, List.of("u10m"), Math.min(2, outChannels - 1), T2M);
        }
        List<String> names = choice.variables().subList(0, outChannels);
        int picture = Math.max(names.indexOf(T2M), 0);
        return new ChannelTags(IntStream.range(0, outChannels).toArray(), names, picture, names.get(picture));
    }

    /** The tag of a scored channel's RMSE. */
    String rmse(int index) {
        return "RMSE(" + names.get(index) + ")/valid";
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
