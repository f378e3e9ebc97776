package org.isobar.data;

import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * Which data to read, and how.
 *
 * @param directory   where the year files lie
 * @param meansFile   means of the channels, .npy of shape (1, C, 1, 1)
 * @param stdsFile    standard deviations, likewise
 * @param height      latitudes to read, from the north
 * @param width       longitudes to read, from the first
 * @param inChannels  channels of the input: the first of the file
 * @param outChannels channels of the target, likewise
 * @param dt          time steps from input to target
 * @param limit       most samples to use, if not all
 */
public record DatasetConfig(Path directory, Path meansFile, Path stdsFile, int height, int width,
                            int inChannels, int outChannels, int dt, OptionalLong limit) {
    /** What is read of the input's frame. */
    public CropWindow input() {
        return new CropWindow(inChannels, height, width);
    }

    /** What is read of the target's frame. */
    public CropWindow target() {
        return new CropWindow(outChannels, height, width);
    }
}
