package org.isobar.config.keys;

import java.util.List;
import java.util.stream.Stream;

/** Every key that a preset may have, in the order of the log's configuration block. */
public final class Keys {
    public static final ModelKeys MODEL = new ModelKeys();
    public static final TrainingKeys TRAINING = new TrainingKeys();
    public static final DataKeys DATA = new DataKeys();
    public static final LaunchKeys LAUNCH = new LaunchKeys();
    public static final RunKeys RUN = new RunKeys();
    public static final SyntheticKeys SYNTHETIC = new SyntheticKeys();

    /** All keys of all groups. */
    public static final List<Key<?>> ALL = Stream.of(MODEL, TRAINING, DATA, LAUNCH, RUN, SYNTHETIC)
        .<Key<?>>flatMap(group -> group.keys().stream()).toList();

    private Keys() { }
}
