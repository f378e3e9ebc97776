package org.isobar.data;

import java.nio.file.Path;
import java.util.OptionalLong;

import org.isobar.data.channels.ChannelChoice;

/**
 * Says which data to read, and how.
 *
 * @param directory   directory of the year files
 * @param meansFile   means of the channels, .npy of shape (1, C, 1, 1)
 * @param stdsFile    standard deviations of the channels, .npy of shape (1, C, 1, 1)
 * @param height      number of latitudes to read, counted from the north
 * @param width       number of longitudes to read, counted from the first
 * @param inChannels  number of input channels: variables of the data, then channels that are inputs only
 * @param outChannels number of target channels: the first variables
 * @param dt          time steps from input to target
 * @param hoursPerFrame hours from one time step to the next; files that have times must agree
 * @param limit       maximum number of samples; empty for all
 * @param channels    the input channels by name, if they are not the first ones of the file
 */
public record DatasetConfig(Path directory, Path meansFile, Path stdsFile, int height, int width, int inChannels,
                            int outChannels, int dt, int hoursPerFrame, OptionalLong limit, ChannelChoice channels) {
    /** The first channels of data with a time step every six hours. */
    public DatasetConfig(Path directory, Path meansFile, Path stdsFile, int height, int width, int inChannels,
                         int outChannels, int dt, OptionalLong limit) {
        this(directory, meansFile, stdsFile, height, width, inChannels, outChannels, dt, 6, limit, ChannelChoice.FIRST);
    }

    /** The window of an input, with the channels that are inputs only. */
    public CropWindow input() {
        return new CropWindow(inChannels, height, width);
    }

    /** The window that is read of an input frame. */
    public CropWindow variables() {
        return new CropWindow(inChannels - channels.inputOnly(), height, width);
    }

    /** The window that is read of a target frame. */
    public CropWindow target() {
        return new CropWindow(outChannels, height, width);
    }
}
