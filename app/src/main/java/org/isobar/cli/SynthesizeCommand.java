package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;

import org.isobar.cli.options.ProgramContext;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar synthesize}: writes a synthetic data set; the defaults are those of preset demo. */
@Command(name = SynthesizeCommand.NAME, mixinStandardHelpOptions = true, showDefaultValues = true,
    description = SynthesizeCommand.SUMMARY)
public final class SynthesizeCommand implements Callable<Integer> {
    static final String NAME = "synthesize";
    static final String SUMMARY = "Write an ERA5-like synthetic data set in the tutorial's layout.";

    private final ProgramContext context;

    @Spec
    private CommandSpec spec;

    @Option(names = "--data_dir", paramLabel = "DIR",
        description = "Directory to write train, valid, test and stats to. Default: DATADIR, else ./data.")
    private Path dataDirectory;

    @Option(names = "--height", paramLabel = "N", defaultValue = "64", description = "Latitudes, both poles included.")
    private int height;

    @Option(names = "--width", paramLabel = "N", defaultValue = "128", description = "Longitudes.")
    private int width;

    @Option(names = "--train_years", paramLabel = "N", defaultValue = "3", description = "Files of the training set.")
    private int trainYears;

    @Option(names = "--valid_years", paramLabel = "N", defaultValue = "1", description = "Files of the validation set.")
    private int validYears;

    @Option(names = "--test_years", paramLabel = "N", defaultValue = "1", description = "Files of the test set.")
    private int testYears;

    @Option(names = "--samples_per_year", paramLabel = "N", defaultValue = "240",
        description = "Time steps of a file, six hours apart. A file holds one cycle of the seasons; "
            + "1460 time steps are 365 days.")
    private int samplesPerYear;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Seed of continents and weather.")
    private long seed;

    @Option(names = "--force", description = "Replace a synthetic data set made with other options.")
    private boolean force;

    SynthesizeCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        SyntheticEra5.Existing existing = force ? SyntheticEra5.Existing.REPLACE : SyntheticEra5.Existing.KEEP;
        SyntheticEra5.write(config(), dataDirectory(), existing, line -> {
            out.println(line);
            out.flush();
        });
        return 0;
    }

    /** Where the options and the environment say that the data set is written. */
    Path dataDirectory() {
        return Optional.ofNullable(dataDirectory).or(context::dataDirectory).orElse(Path.of("./data"));
    }

    /** The data set that the options ask for. */
    SyntheticConfig config() {
        return new SyntheticConfig(height, width, trainYears, validYears, testYears, samplesPerYear, seed);
    }
}
