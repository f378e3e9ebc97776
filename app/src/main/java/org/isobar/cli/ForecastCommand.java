package org.isobar.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Keys;
import org.isobar.data.Era5Frames;
import org.isobar.distributed.job.JobSecret;
import org.isobar.fault.UserException;
import org.isobar.forecast.ForecastModel;
import org.isobar.forecast.ForecastRun;
import org.isobar.forecast.PictureRequest;
import org.isobar.forecast.PlacePoint;
import org.isobar.forecast.StartTime;
import org.isobar.telemetry.Screen;
import org.isobar.train.RunContext;
import org.isobar.train.saving.StopRequest;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar forecast}: rolls a trained model out from frames of the data into a Zarr store. */
@Command(name = ForecastCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false, abbreviateSynopsis = true,
    description = ForecastCommand.SUMMARY,
    footer = "Example: isobar forecast --model=logs/demo/1GPU/00 --data_dir=data/demo --start=1983-01-03T00 "
        + "--lead_steps=20 --out=forecast.zarr")
final class ForecastCommand implements Callable<Integer> {
    static final String NAME = "forecast";
    static final String SUMMARY = "Forecast with a trained model, in physical units, and write a Zarr store.";
    private static final List<Key<?>> JOB_KEYS = List.of(Keys.RUN.device, Keys.RUN.threads, Keys.TRAINING.ampMode,
        Keys.TRAINING.localBatchSize, Keys.LAUNCH.tensorParallel, Keys.LAUNCH.contextParallel,
        Keys.LAUNCH.parallelOrder, Keys.LAUNCH.commBackend, Keys.LAUNCH.commTimeout, Keys.LAUNCH.startTimeout);

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--model", paramLabel = "DIR", required = true,
        description = "Directory of a run that has ended, or one that isobar export wrote.")
    private Path model;
    @Option(names = "--data_dir", paramLabel = "DIR", description = "Directory of the initial fields: year files, or "
        + "train, valid and test with year files. Default: DATADIR.")
    private Path dataDir;
    @Option(names = "--start", paramLabel = "TIME,...", required = true, description = "Initial times in UTC, such as "
        + "2018-01-03T00, or YEAR:FRAME, such as 2018:8; the data need a frame of each.")
    private String starts;
    @Option(names = "--lead_steps", paramLabel = "N", required = true,
        description = "Model steps from each start; a step of the tutorial's models is 6 hours.")
    private int steps;
    @Option(names = "--out", paramLabel = "FILE", required = true,
        description = "The Zarr store. It must not exist; an unfinished one of the same forecasts is continued.")
    private Path out;

    @Option(names = "--points", paramLabel = "NAME:LAT,LON;...", description = "Also write FILE.points.csv: time "
        + "series of all variables at places, such as \"Oslo:59.9,10.7;Quito:-0.2,-78.5\".")
    private String points;
    @Option(names = "--pictures", paramLabel = "NAME,...", split = ",", description = "Also draw maps of these "
        + "variables beside the data of the same time, to directory FILE.pictures.")
    private List<String> pictures = List.of();
    @Option(names = "--picture_steps", paramLabel = "N,...", split = ",",
        description = "Steps of the maps (default: the last).")
    private List<Integer> pictureSteps = List.of();

    private ForecastCommand(ProgramContext context) {
        this.context = context;
    }

    /** The command with the options of its device and job. */
    static CommandLine commandLine(ProgramContext context) {
        CommandLine command = new CommandLine(new ForecastCommand(context));
        ConfigOptions.declare(command.getCommandSpec(), JOB_KEYS);
        return command;
    }

    @Override
    public Integer call() {
        if (pictures.isEmpty() && !pictureSteps.isEmpty()) {
            throw new UserException("--picture_steps is given without --pictures; name the variables to draw");
        }
        ForecastModel opened = ForecastModel.open(model,
            ConfigOptions.settings(spec.commandLine().getParseResult()), context.environment());
        ForecastRun.Request request = new ForecastRun.Request(data(), StartTime.parse(starts,
            Era5Frames.hoursPerFrame(data(), opened.hoursPerFrame())), steps, out,
            points == null ? List.of() : PlacePoint.parse(points),
            new PictureRequest(pictures, pictureSteps.isEmpty() ? List.of(steps) : pictureSteps));
        return ForecastRun.run(opened, request, new RunContext(JobSecret.of(context.environment()),
            context.environment(), Screen.standard(context.environment()), StopRequest.NONE));
    }

    private Path data() {
        return Optional.ofNullable(dataDir).or(context::dataDirectory)
            .orElseThrow(() -> new UserException("no data are named; give their directory with --data_dir"));
    }
}
