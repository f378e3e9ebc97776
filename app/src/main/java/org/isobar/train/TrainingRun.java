package org.isobar.train;

import java.nio.file.Path;
import java.util.OptionalLong;

import org.isobar.backend.Backend;
import org.isobar.config.RunConfig;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetConfig;
import org.isobar.data.Era5Dataset;
import org.isobar.device.Device;
import org.isobar.fault.UserException;
import org.isobar.metrics.Channels;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.telemetry.TensorBoardWriter;
import org.isobar.telemetry.TutorialLines;
import org.isobar.vit.VitConfig;

/** One run from configuration to trained weights: opens everything, trains, and closes everything. */
public final class TrainingRun {
    private static final int RANK = 0;

    private final RunConfig config;
    private final Screen screen;
    private final RunLog log;
    private final Path directory;

    private TrainingRun(RunConfig config, Screen screen, RunLog log) {
        this.config = config;
        this.screen = screen;
        this.log = log;
        directory = config.output().experimentDirectory();
    }

    /** Trains as configured; returns the exit code: 0, 2 after a user's mistake, 1 after an unexpected failure. */
    public static int run(RunConfig config, Screen screen) {
        try (RunLog log = new RunLog(screen)) {
            try {
                new TrainingRun(config, screen, log).run();
                return 0;
            } catch (UserException mistake) {
                log.error(mistake.getMessage());
                return 2;
            } catch (RuntimeException | Error failure) {
                log.error("unexpected failure", failure);
                return 1;
            }
        }
    }

    private void run() {
        log.info(TutorialLines.grid(1, 1, 1, 1));
        log.openFile(directory.resolve("out.log"));
        config.block().forEach(log::info);
        config.warnings().forEach(log::warn);
        MissingData.synthesize(config, log);
        try (Device device = Backend.open(config.device(), config.threads(), log::info);
            TensorBoardWriter board = TensorBoardWriter.open(directory.resolve("logs"))) {
            log.info("rank %d, begin data loader init".formatted(RANK));
            Era5Dataset training = open(config.data().trainPath(), config.data().limitSamples());
            Era5Dataset validation = open(config.data().validPath(), config.data().limitSamplesValid());
        }
    }

    private Era5Dataset open(Path path, OptionalLong limit) {
        return null;
    }
}
