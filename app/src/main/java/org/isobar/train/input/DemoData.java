package org.isobar.train.input;

import java.nio.file.Files;
import java.nio.file.Path;
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

/** The synthetic data of a preset that brings its own: made on first use. */
public final class DemoData {
    private DemoData() { }

    /** Makes the data that the preset describes, unless they, or the user's own, are there. */
    public static void makeIfMissing(RunConfig config, Consumer<String> progress) {
        Optional<SyntheticData> wanted = config.data().synthetic();
        Path directory = directory(config);
        boolean usersOwn = Files.exists(config.data().trainPath()) && SyntheticManifest.read(directory).isEmpty();
        if (wanted.isPresent() && !usersOwn && isStandardLayout(config, directory)) {
            SyntheticData data = wanted.get();
            SyntheticConfig synthetic = new SyntheticConfig(config.model().height(), config.model().width(),
                data.trainYears(), data.validYears(), data.testYears(), data.samplesPerYear(), data.seed());
            SyntheticEra5.write(synthetic, directory, SyntheticEra5.Existing.KEEP, progress);
        }
    }

    /** Whether the run reads what would be made: made elsewhere, data would fill somebody's disk for nothing. */
    private static boolean isStandardLayout(RunConfig config, Path directory) {
        DataConfig data = config.data();
        return data.trainPath().endsWith("train") && isAt(data.validPath(), directory.resolve("valid"))
            && isAt(data.globalMeansPath(), directory.resolve("stats/global_means.npy"))
            && isAt(data.globalStdsPath(), directory.resolve("stats/global_stds.npy"));
    }

    private static boolean isAt(Path path, Path place) {
        return path.toAbsolutePath().normalize().equals(place);
    }

    /** The RMSE of u10, normalized, that no forecast of synthetic data can beat; empty for other data. */
    public static OptionalDouble noiseFloor(RunConfig config) {
        return SyntheticManifest.read(directory(config))
            .map(manifest -> OptionalDouble.of(manifest.variables().get(Era5Variable.U10.ordinal()).noiseFloor()))
            .orElse(OptionalDouble.empty());
    }

    /** The set's directory: that of {@code train}. */
    private static Path directory(RunConfig config) {
        return config.data().trainPath().toAbsolutePath().normalize().getParent();
    }
}
