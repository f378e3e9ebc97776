package org.isobar.evaluation;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.isobar.data.Era5Frames;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.fault.UserException;
import org.isobar.forecast.ForecastModel;
import org.isobar.forecast.ForecastSession;
import org.isobar.forecast.InitialFields;
import org.isobar.forecast.RollOut;
import org.isobar.forecast.StartTime;
import org.isobar.pretrained.Channel;
import org.isobar.scores.BlockBootstrap;
import org.isobar.scores.ForecastKind;
import org.isobar.scores.LeadPlot;
import org.isobar.scores.Score;
import org.isobar.scores.ScoreFiles;
import org.isobar.scores.ScoreReport;
import org.isobar.scores.ScoreSummary;
import org.isobar.scores.Scorecard;
import org.isobar.scores.SpectrumMeans;
import org.isobar.scores.SpectrumPlot;
import org.isobar.telemetry.RunLog;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.RankProcess;
import org.isobar.train.RunContext;

/**
 * The evaluation of a model by one rank of a job. Data-parallel ranks share the initial times; rank 0 writes the
 * results.
 */
public final class ModelEvaluation {
    private static final int CHUNK = 1 << 16; // numbers that are summed over ranks at a time
    private static final String OUT = "--out";

    private final ForecastModel model;
    private final EvaluationPlan plan;
    private final RunContext context;
    private final RunLog log;

    private ModelEvaluation(ForecastModel model, EvaluationPlan plan, RunContext context, RunLog log) {
        this.model = model;
        this.plan = plan;
        this.context = context;
        this.log = log;
    }

    /** Evaluates a model and returns the exit code: 0, 2 for invalid input, or 1 for any other failure. */
    public static int run(ForecastModel model, EvaluationPlan plan, RunContext context) {
        return RankProcess.run(model.run().ranks(), context.screen(), log -> {
            new ModelEvaluation(model, plan, context, log).evaluate();
            return 0;
        });
    }

    private void evaluate() {
        RollOut.requireSteps(model, plan.leadSteps());
        requireNames();
        double[] latitudes = model.config().grid().latitudes().stream().mapToDouble(Double::doubleValue).toArray();
        try (Era5Frames inputs = model.inputs(plan.years());
                Era5Frames outputs = model.outputs(plan.years());
                ClimatologyFields climatology = climatology(outputs)) {
            int framesPerStep = model.framesPerStep(inputs);
            List<StartTime> starts = plan.starts(inputs, framesPerStep);
            log.info("Evaluating forecasts of " + plan.leadSteps() + " steps from " + starts.size() + " initial times, "
                + starts.getFirst() + " to " + starts.getLast());
            ForecastSession.run(model, context, log::info, session -> {
                try (FieldScorer scorer = new FieldScorer(outputs, framesPerStep, climatology, latitudes, starts,
                        plan.leadSteps())) {
                    session.rollOut().run(starts, plan.leadSteps(), InitialFields.of(inputs, model),
                        scorer);
                    FieldScorer.KINDS.forEach(kind -> sum(scorer.table().values(kind), session));
                    sum(scorer.spectra().sums(), session);
                    if (model.run().ranks().rank() == 0) {
                        write(scorer, starts, climatology);
                    }
                    session.consensus().barrier(); // no rank ends before the results are written
                }
                return null;
            });
        }
    }

    /** The climatology of the frames' channels. */
    private ClimatologyFields climatology(Era5Frames outputs) {
        return model.run().data().channels().isNamed()
            ? ClimatologyFields.open(plan.climatology(), model.output(), outputs.channels())
            : ClimatologyFields.open(plan.climatology(), model.output());
    }

    private void requireNames() {
        List<String> names = model.config().forecastNames();
        plan.plotted().stream().filter(name -> !names.contains(name)).findFirst().ifPresent(name -> {
            throw new UserException("--plot " + name + ": the model forecasts " + String.join(", ", names));
        });
    }

    /** Replaces numbers by their sums over the data-parallel ranks. */
    private static void sum(double[] numbers, ForecastSession session) {
        if (session.communicators().grid().size(Axis.DP) == 1) {
            return;
        }
        Communicator replicas = session.communicators().along(Axis.DP);
        try (DeviceArena arena = session.device().arena("sums of scores", (long) CHUNK * Double.BYTES)) {
            Tensor all = arena.allocate(DType.F64, CHUNK);
            for (int first = 0; first < numbers.length; first += CHUNK) {
                int count = Math.min(CHUNK, numbers.length - first);
                double[] chunk = Arrays.copyOfRange(numbers, first, first + count);
                Tensor part = all.slice(0, count);
                session.device().upload(part, MemorySegment.ofArray(chunk));
                replicas.allReduce(part, Reduction.SUM).await();
                session.device().download(MemorySegment.ofArray(chunk), part);
                System.arraycopy(chunk, 0, numbers, first, count);
            }
        }
    }

    private void write(FieldScorer scorer, List<StartTime> starts, ClimatologyFields climatology) {
        ScoreReport report = report(scorer, starts, climatology);
        List<String> plotted = plan.plotted().isEmpty() ? report.variables() : plan.plotted();
        ScoreFiles files = new ScoreFiles(plan.out(), OUT);
        files.writePicture("scorecard.svg", Scorecard.svg(report));
        for (String metric : List.of(ScoreSummary.RMSE, "acc")) {
            files.writePicture(metric + ".svg", LeadPlot.svg(report, plotted, metric));
        }
        files.writePicture("spectra.svg", SpectrumPlot.svg(report, scorer.spectra(), plotted));
        files.writeSpectra(report, scorer.spectra());
        files.writeScores(report);
        for (String variable : plotted) {
            log.info(variable + ": rmse at " + report.hours(plan.leadSteps()) + " h "
                + last(report, ForecastKind.MODEL, variable) + ", persistence "
                + last(report, ForecastKind.PERSISTENCE, variable) + ", climatology "
                + last(report, ForecastKind.CLIMATOLOGY, variable));
        }
        log.info("Wrote scores.json, scores.csv, spectra.csv and pictures to " + plan.out());
    }

    private static float last(ScoreReport report, ForecastKind kind, String variable) {
        Score any = report.scores().getLast();
        return (float) report.byLead(kind, variable, ScoreSummary.RMSE)[any.leadSteps() - 1].value();
    }

    private ScoreReport report(FieldScorer scorer, List<StartTime> starts, ClimatologyFields climatology) {
        List<String> variables = model.config().forecastNames();
        Map<String, String> definitions = new LinkedHashMap<>(ScoreSummary.definitions());
        definitions.put(SpectrumMeans.RATIO, scorer.spectra().definition());
        definitions.put("climatology", climatology.description());
        definitions.put("units", "those of the data");
        definitions.put("bootstrap_seed", Long.toString(plan.seed()));
        List<Score> scores = new ArrayList<>(ScoreSummary.of(scorer.table(), variables,
            new BlockBootstrap(starts.stream().map(StartTime::time).toList(), plan.seed())));
        scores.addAll(scorer.spectra().scores(variables));
        return new ScoreReport(definitions, variables,
            model.config().forecastChannels().stream().map(Channel::unit).toList(), starts.stream().map(StartTime::time).toList(),
            Duration.ofHours(model.config().leadStepHours()), plan.leadSteps(), scores);
    }
}
