package org.isobar.scores;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import org.isobar.os.AtomicFile;

/**
 * Writes results as files. {@code scores.json} is an object with {@code definitions}, {@code initial_times} and
 * {@code scores}; {@code scores.csv} has the same scores, {@code spectra.csv} the zonal power spectra. A number that is
 * undefined is null in JSON and empty in CSV.
 *
 * @param directory where the files are written
 * @param option    the command-line option that selects another directory, for error messages
 */
public record ScoreFiles(Path directory, String option) {
    private static final String HEADER = "forecast,variable,lead_steps,lead_hours,metric,value,low,high\n";
    private static final String SPECTRA_HEADER = "variable,lead_steps,lead_hours,wavenumber,forecast,truth,ratio\n";
    private static final String QUOTE = "\"";

    /**
     * Writes {@code scores.json} and {@code scores.csv}; creates the directory if it does not exist.
     *
     * @throws org.isobar.fault.UserException if a file cannot be written
     */
    public void writeScores(ScoreReport report) {
        write("scores", "scores.csv", csv(report).getBytes(StandardCharsets.UTF_8));
        write("scores", "scores.json", json(report));
    }

    /**
     * Writes {@code spectra.csv}; creates the directory if it does not exist.
     *
     * @throws org.isobar.fault.UserException if the file cannot be written
     */
    public void writeSpectra(ScoreReport report, SpectrumMeans spectra) {
        file("spectra", "spectra.csv").write(channel -> {
            Writer lines = Channels.newWriter(channel, StandardCharsets.UTF_8);
            lines.write(SPECTRA_HEADER);
            for (int variable = 0; variable < report.variables().size(); variable++) {
                for (int lead = 1; lead <= spectra.leads(); lead++) {
                    write(lines, report, spectra, variable, lead);
                }
            }
            lines.flush();
        });
    }

    private static void write(Writer lines, ScoreReport report, SpectrumMeans spectra, int variable, int lead)
            throws IOException {
        double[] forecast = spectra.mean(SpectrumMeans.Side.FORECAST, lead, variable, report.initialTimes().size());
        double[] truth = spectra.mean(SpectrumMeans.Side.TRUTH, lead, variable, report.initialTimes().size());
        String name = cell(report.variables().get(variable));
        for (int k = 0; k < forecast.length; k++) {
            lines.write(String.join(",", name, Integer.toString(lead), Double.toString(report.hours(lead)),
                Integer.toString(k), number(forecast[k]), number(truth[k]), number(forecast[k] / truth[k])) + "\n");
        }
    }

    /**
     * Writes a picture; creates the directory if it does not exist.
     *
     * @throws org.isobar.fault.UserException if the file cannot be written
     */
    public void writePicture(String name, String svg) {
        write("picture", name, svg.getBytes(StandardCharsets.UTF_8));
    }

    private void write(String what, String name, byte[] content) {
        file(what, name).write(content);
    }

    private AtomicFile file(String what, String name) {
        return new AtomicFile(what, directory.resolve(name), option);
    }

    private static String csv(ScoreReport report) {
        StringBuilder lines = new StringBuilder(HEADER);
        for (Score score : report.scores()) {
            Estimate estimate = score.estimate();
            lines.append(String.join(",", score.forecast().label(), cell(score.variable()),
                Integer.toString(score.leadSteps()), Double.toString(report.hours(score.leadSteps())), score.metric(),
                number(estimate.value()), number(estimate.low()), number(estimate.high()))).append('\n');
        }
        return lines.toString();
    }

    private static String number(double value) {
        return Double.isFinite(value) ? Double.toString(value) : "";
    }

    private static String cell(String text) {
        boolean plain = !text.contains(",") && !text.contains(QUOTE) && !text.contains("\n");
        return plain ? text : QUOTE + text.replace(QUOTE, QUOTE + QUOTE) + QUOTE;
    }

    private static byte[] json(ScoreReport report) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = new JsonFactory().createGenerator(bytes)) {
            json.setPrettyPrinter(new DefaultPrettyPrinter());
            json.writeStartObject();
            json.writeObjectFieldStart("definitions");
            for (Map.Entry<String, String> definition : report.definitions().entrySet()) {
                json.writeStringField(definition.getKey(), definition.getValue());
            }
            json.writeEndObject();
            writeTimes(json, report.initialTimes());
            json.writeArrayFieldStart("scores");
            for (Score score : report.scores()) {
                write(json, report, score);
            }
            json.writeEndArray();
            json.writeEndObject();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return bytes.toByteArray();
    }

    private static void writeTimes(JsonGenerator json, List<LocalDateTime> times) throws IOException {
        json.writeArrayFieldStart("initial_times");
        for (LocalDateTime time : times) {
            json.writeString(DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(time));
        }
        json.writeEndArray();
    }

    private static void write(JsonGenerator json, ScoreReport report, Score score) throws IOException {
        json.writeStartObject();
        json.writeStringField("forecast", score.forecast().label());
        json.writeStringField("variable", score.variable());
        json.writeNumberField("lead_steps", score.leadSteps());
        json.writeNumberField("lead_hours", report.hours(score.leadSteps()));
        json.writeStringField("metric", score.metric());
        writeNumber(json, "value", score.estimate().value());
        writeNumber(json, "low", score.estimate().low());
        writeNumber(json, "high", score.estimate().high());
        json.writeEndObject();
    }

    private static void writeNumber(JsonGenerator json, String name, double value) throws IOException {
        if (Double.isFinite(value)) {
            json.writeNumberField(name, value);
        } else {
            json.writeNullField(name);
        }
    }
}
