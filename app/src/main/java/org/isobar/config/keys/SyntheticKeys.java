package org.isobar.config.keys;

import static org.isobar.config.keys.ValueType.count;
import static org.isobar.config.keys.ValueType.whole;

import java.util.Optional;

/**
 * The synthetic data set that a run makes if its data are missing. A preset asks for one by giving any of these keys;
 * only then does the log list them.
 */
public final class SyntheticKeys extends KeyGroup {
    public final Key<Long> seed = add(Key.freeOnResume("synthetic.seed", whole(Long.MIN_VALUE, Long.MAX_VALUE),
        "Selects continents and weather.").defaultsTo(0L));
    public final Key<Integer> trainYears = add(Key.freeOnResume("synthetic.train_years", count(1),
        "Training years; each is a file.").defaultsTo(1));
    public final Key<Integer> validYears = add(Key.freeOnResume("synthetic.valid_years", count(1),
        "Validation years.").defaultsTo(1));
    public final Key<Integer> testYears = add(Key.freeOnResume("synthetic.test_years", count(0),
        "Test years.").defaultsTo(0));
    public final Key<Integer> samplesPerYear = add(Key.freeOnResume("synthetic.samples_per_year", count(2),
        "Time steps of a year, six hours apart.").defaultsTo(1460));
    public final Key<Optional<Integer>> chunkSteps = add(Key.freeOnResume("synthetic.chunk_steps", count(1),
        "Time steps of an HDF5 chunk, so that reading one step reads all of them. Default: no chunks.").optional());
}
