package org.isobar.config;

import static org.isobar.config.keys.Keys.LAUNCH;
import static org.isobar.config.keys.Keys.RUN;
import static org.isobar.config.keys.Keys.TRAINING;

import java.nio.file.Path;
import java.util.Optional;

import org.isobar.config.keys.Settings;
import org.isobar.config.keys.StepRange;

/**
 * Where the run writes. {@code experimentDirectory} is {@code expdir/PRESET/nGPU/runNum} or, where a model-parallel
 * option is given, {@code expdir/PRESET/nMP/runNum}, as in the tutorial's two programs. {@code trace} are the steps
 * that are traced.
 */
public record OutputConfig(Path expdir, String runNum, Path experimentDirectory, Optional<StepRange> trace) {
    /** The end of the name of a directory {@code nMP}. */
    static final String OF_LAYOUT = "MP";

    /** Whether a model-parallel option was given. */
    boolean isOfLayout() {
        return experimentDirectory.getParent().toString().endsWith(OF_LAYOUT);
    }

    /** Below the preset's directory, in that of its {@code scale}, such as {@code 4GPU}. */
    static OutputConfig of(Settings settings, String preset, String scale) {
        Path expdir = settings.get(TRAINING.expdir);
        String runNum = settings.get(LAUNCH.runNum);
        return new OutputConfig(expdir, runNum, expdir.resolve(preset).resolve(scale).resolve(runNum),
            settings.get(RUN.trace));
    }
}
