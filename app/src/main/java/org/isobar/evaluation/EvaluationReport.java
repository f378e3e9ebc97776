package org.isobar.evaluation;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.forecast.ForecastModel;
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

/**
 * Averages the scores of all initial times, and writes them as files.
 *
 * @param model  the model that was evaluated
 * @param second the model that it is compared with, for the definitions; empty if there is none
 * @param plan   what was evaluated
 * @param starts the initial times
 */
record EvaluationReport(ForecastModel model, String second, EvaluationPlan plan, List<StartTime> starts) {
    /** The option that names the directory of the results. */
    static final String OUT = "--out";

    /** Writes scores, spectra and pictures; returns lines for the log. */
    List<String> write(PartialScores scores, String climatology) {
        ScoreReport report = report(scores, climatology);
        List<String> plotted = plan.plotted().isEmpty() ? report.variables() : plan.plotted();
        ScoreFiles files = new ScoreFiles(plan.out(), OUT);
        files.writePicture("scorecard.svg", Scorecard.svg(report));
        for (String metric : List.of(ScoreSummary.RMSE, "acc")) {
            files.writePicture(metric + ".svg", LeadPlot.svg(report, plotted, metric));
        }
        files.writePicture("spectra.svg", SpectrumPlot.svg(report, scores.spectra(), plotted));
        files.writeSpectra(report, scores.spectra());
        files.writeScores(report);
        return Stream.concat(
            plotted.stream().map(variable -> variable + ": rmse at " + report.hours(plan.leadSteps()) + " h "
                + last(report, ForecastKind.MODEL, variable) + ", persistence "
                + last(report, ForecastKind.PERSISTENCE, variable) + ", climatology "
                + last(report, ForecastKind.CLIMATOLOGY, variable)),
            Stream.of("Wrote scores.json, scores.csv, spectra.csv and pictures to " + plan.out())).toList();
    }

    private float last(ScoreReport report, ForecastKind kind, String variable) {
        return (float) report.byLead(kind, variable, ScoreSummary.RMSE)[plan.leadSteps() - 1].value();
    }

    private ScoreReport report(PartialScores parts, String climatology) {
        List<String> variables = model.config().forecastNames();
        Map<String, String> definitions = new LinkedHashMap<>(ScoreSummary.definitions());
        definitions.put(SpectrumMeans.RATIO, parts.spectra().definition());
        definitions.put("climatology", climatology);
        definitions.put("second_model", second.isEmpty() ? "none" : second);
        definitions.put("units", "those of the data");
        definitions.put("bootstrap_seed", Long.toString(plan.seed()));
        List<Score> scores = new ArrayList<>(ScoreSummary.of(parts.table(), variables,
            new BlockBootstrap(starts.stream().map(StartTime::time).toList(), plan.seed())));
        scores.addAll(parts.spectra().scores(variables));
        return new ScoreReport(definitions, variables,
            model.config().forecastChannels().stream().map(Channel::unit).toList(),
            starts.stream().map(StartTime::time).toList(), Duration.ofHours(model.config().leadStepHours()),
            plan.leadSteps(), scores);
    }
}
