package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;

import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar synthesize}: makes a data set to try the program with; unless told otherwise, that of preset demo. */
@Command(name = "synthesize", mixinStandardHelpOptions = true, showDefaultValues = true,
    description = "Write an ERA5-like synthetic data set in the tutorial's layout.")
public final class SynthesizeCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(names = "--data_dir", defaultValue = "${env:DATADIR:-./data}",
        description = "Directory for train, valid, test and stats; DATADIR if that is set.")
    private Path dataDirectory;

    @Option(names = "--height", defaultValue = "64", description = "Latitudes, both poles included.")
    private int height;

    @Option(names = "--width", defaultValue = "128", description = "Longitudes.")
    private int width;

    @Option(names = "--train_years", defaultValue = "3", description = "Files of the training set.")
    private int trainYears;

    @Option(names = "--valid_years", defaultValue = "1", description = "Files of the validation set.")
    private int validYears;

    @Option(names = "--test_years", defaultValue = "1", description = "Files of the test set.")
    private int testYears;

    @Option(names = "--samples_per_year", defaultValue = "240",
        description = "Frames of a file, six hours apart; the seasons pass once in a file, 1460 frames are 365 days.")
    private int samplesPerYear;

    @Option(names = "--seed", defaultValue = "1", description = "Selects continents and weather.")
    private long seed;

    @Option(names = "--force", description = "Replace a synthetic data set made with other options.")
    private boolean force;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        SyntheticEra5.Existing existing = force ? SyntheticEra5.Existing.REPLACE : SyntheticEra5.Existing.KEEP;
        SyntheticEra5.write(config(), dataDirectory, existing, line -> {
            out.println(line);
            out.flush();
        });
        return 0;
    }

    /** What the options say. */
    SyntheticConfig config() {
        return new SyntheticConfig(height, width, trainYears, validYears, testYears, samplesPerYear, seed);
    }
}
