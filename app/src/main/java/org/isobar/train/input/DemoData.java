package org.isobar.train.input;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Consumer;

import org.isobar.config.DataConfig;
import org.isobar.config.RunConfig;
import org.isobar.config.SyntheticData;
import org.isobar.data.Era5Variable;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.data.synthetic.SyntheticManifest;

/** Generates the synthetic data of a preset that defines them, on first use. */
public final class DemoData {
    private DemoData() { }

    /** Generates the data that the preset defines, unless they or other data of the user exist. */
    public static void makeIfMissing(RunConfig config, Consumer<String> progress) {
        Optional<SyntheticData> wanted = config.data().synthetic();
        Path directory = directory(config);
        boolean usersOwn = Files.exists(config.data().trainPath()) && SyntheticManifest.read(directory).isEmpty();
        if (wanted.isPresent() && !usersOwn && isStandardLayout(config, directory)) {
            SyntheticData data = wanted.get();
            SyntheticConfig synthetic = new SyntheticConfig(config.model().height(), config.model().width(),
                data.trainYears(), data.validYears(), data.testYears(), data.samplesPerYear(), data.seed(),
                data.chunkSteps().orElse(SyntheticConfig.CONTIGUOUS));
            SyntheticEra5.write(synthetic, directory, SyntheticEra5.Existing.KEEP, progress);
        }
    }

    /** Whether the run would read the generated data. If not, generating them would only use disk space. */
    private static boolean isStandardLayout(RunConfig config, Path directory) {
        DataConfig data = config.data();
        return data.trainPath().endsWith("train") && isAt(data.validPath(), directory.resolve("valid"))
            && isAt(data.globalMeansPath(), directory.resolve("stats/global_means.npy"))
            && isAt(data.globalStdsPath(), directory.resolve("stats/global_stds.npy"));
    }

    private static boolean isAt(Path path, Path place) {
        return path.toAbsolutePath().normalize().equals(place);
    }

    /**
     * Lower bound of the normalized RMSE of a channel for any forecast of synthetic data; empty for other data.
     *
     * @param channel number of the channel in the model's output
     */
    public static OptionalDouble noiseFloor(RunConfig config, int channel) {
        List<String> names = config.data().channels().variables();
        String name = names.isEmpty() ? Era5Variable.values()[channel].label() : names.get(channel);
        return SyntheticManifest.read(directory(config)).stream().flatMap(manifest -> manifest.variables().stream())
            .filter(variable -> variable.name().equals(name)).mapToDouble(SyntheticManifest.Channel::noiseFloor)
            .findFirst();
    }

    /** The data directory: the parent of {@code train}. */
    private static Path directory(RunConfig config) {
        return config.data().trainPath().toAbsolutePath().normalize().getParent();
    }
}
