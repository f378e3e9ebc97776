package org.isobar.config;

import java.nio.file.Path;

/**
 * Where the run writes: {@code experimentDirectory} is {@code expdir/PRESET/nGPU/runNum} or, where a model-parallel
 * option was given, {@code expdir/PRESET/nMP/runNum}, as the tutorial's two programs have it.
 */
public record OutputConfig(Path expdir, String runNum, Path experimentDirectory) { }
