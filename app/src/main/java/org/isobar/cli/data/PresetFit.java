package org.isobar.cli.data;

import java.util.ArrayList;
import java.util.List;

import org.isobar.config.RunConfig;
import org.isobar.data.CropWindow;
import org.isobar.data.Era5File;
import org.isobar.data.channels.ChannelChoice;
import org.isobar.data.survey.YearFiles;

/** Compares what a preset reads with what files have. */
final class PresetFit {
    private PresetFit() { }

    /** What the preset needs and the files do not have; empty if it can be trained on them. */
    static List<String> missing(RunConfig preset, YearFiles years) {
        List<String> missing = new ArrayList<>();
        CropWindow stored = years.stored();
        ChannelChoice choice = preset.data().channels();
        int channels = Math.max(preset.model().inChannels(), preset.model().outChannels());
        if (!choice.isNamed() && stored.channels() < channels) {
            missing.add("it has " + channels + " channels, the files " + stored.channels());
        }
        List<String> absent = new ArrayList<>(choice.variables());
        if (choice.constantsFile().isEmpty()) {
            absent.addAll(choice.constants());
        }
        absent.removeAll(years.channels());
        if (!absent.isEmpty()) {
            missing.add("the files have no " + String.join(", ", absent));
        }
        if (stored.height() < preset.model().height() || stored.width() < preset.model().width()) {
            missing.add("its img_size is " + preset.model().height() + " x " + preset.model().width()
                + ", larger than " + stored.height() + " x " + stored.width());
        }
        for (Era5File file : years.files()) {
            if (file.times() < 3L * preset.data().dt()) {
                missing.add("dt = " + preset.data().dt() + " needs " + 3L * preset.data().dt() + " time steps, "
                    + file.path().getFileName() + " has " + file.times());
                break;
            }
        }
        int hours = preset.data().hoursPerFrame();
        years.files().stream().filter(file -> file.hoursPerFrame().orElse(hours) != hours).findFirst()
            .ifPresent(file -> missing.add("its hours_per_frame is " + hours + ", " + file.path().getFileName()
                + " has " + file.hoursPerFrame().getAsInt()));
        return missing;
    }

    /** What the preset leaves out of the files, as text: the first channels, latitudes and longitudes are read. */
    static String cropping(RunConfig preset, YearFiles years) {
        CropWindow stored = years.stored();
        CropWindow read = preset.trainingData().variables();
        return read.equals(stored) ? "fits" : "fits; it reads " + read + " of " + stored;
    }
}
