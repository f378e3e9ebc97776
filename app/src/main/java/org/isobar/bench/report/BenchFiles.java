package org.isobar.bench.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.bench.measure.AttentionResult;
import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.CeilingsResult;
import org.isobar.bench.measure.LoaderResult;
import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.TrainingTrace;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * Result files of a benchmark in a directory. Maps are ordered by the name of the part.
 *
 * @param facts    facts about the machine and the run, in the order of {@code facts.tsv}
 * @param parts    parts in the order in which they ran
 * @param ceilings measured ceilings by part
 * @param steps    training steps by part
 * @param growth   training steps of models that differ in one size, by part
 * @param loaders  read rates by part
 * @param traces   observed training runs by part
 * @param attention times of another program's kernels of attention, by part
 * @param modelled modelled speeds of kernels, which are not measured
 */
public record BenchFiles(Map<String, String> facts, List<BenchmarkPart> parts, Map<String, CeilingsResult> ceilings,
    Map<String, StepResult> steps, Map<String, StepResult> growth, Map<String, LoaderResult> loaders,
    Map<String, TrainingTrace> traces, Map<String, AttentionResult> attention, ModelledSpeeds modelled) {
    private static final String WRITERS = "; name a directory that bench cpu or bench/gpu.sh has written";
    private static final String SUFFIX = ".json";
    private static final ObjectMapper JSON = JsonMapper.builder()
        .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
        .enable(SerializationFeature.INDENT_OUTPUT, SerializationFeature.WRITE_ENUMS_USING_TO_STRING)
        .enable(DeserializationFeature.READ_ENUMS_USING_TO_STRING)
        .build();

    /** Writes a result or a report atomically as JSON. */
    public static void write(Path file, Object result) {
        try {
            new AtomicFile("results", file, "--json").write(JSON.writeValueAsBytes(result));
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible); // records of numbers and strings
        }
    }

    /**
     * Reads one result.
     *
     * @throws UserException if it cannot be read
     */
    public static <T> T read(Path file, Class<T> type) {
        try {
            return value(file, type);
        } catch (IOException failure) {
            throw new UserException("cannot read the results in " + file + ": " + failure.getMessage());
        }
    }

    /**
     * Reads a directory.
     *
     * @throws UserException if it cannot be read, or if a file does not have the format that its name implies
     */
    public static BenchFiles read(Path directory) {
        try {
            Map<String, String> facts = new LinkedHashMap<>();
            for (String line : lines(directory.resolve("facts.tsv"))) {
                String[] columns = line.split("\t", 2);
                facts.put(columns[0], columns.length > 1 ? columns[1] : "");
            }
            List<BenchmarkPart> parts = lines(directory.resolve("parts.tsv")).stream().map(BenchmarkPart::of).toList();
            BenchFiles files = new BenchFiles(facts, parts,
                results(directory, "ceilings-", CeilingsResult.class), results(directory, "step-", StepResult.class),
                results(directory, "growth-", StepResult.class), results(directory, "loader-", LoaderResult.class),
                results(directory, "trace-", TrainingTrace.class),
                results(directory, "attention-", AttentionResult.class),
                ModelledSpeeds.of(lines(directory.resolve("modelled.tsv")),
                    lines(directory.resolve("modelled-memory.tsv"))));
            if (files.equals(new BenchFiles(Map.of(), List.of(), Map.of(), Map.of(), Map.of(), Map.of(), Map.of(),
                Map.of(), files.modelled))) {
                throw new UserException("there are no results in " + directory + WRITERS);
            }
            return files;
        } catch (FileSystemException failure) {
            throw FileFault.unreadable("the results in " + directory, failure);
        } catch (IOException | IndexOutOfBoundsException | NumberFormatException failure) {
            throw new UserException("cannot read the results in " + directory + ": " + failure.getMessage()
                + WRITERS);
        }
    }

    private static <T> T value(Path file, Class<T> type) throws IOException {
        T value = JSON.readValue(file.toFile(), type);
        if (value == null) {
            throw new IOException(file + " is null");
        }
        return value;
    }

    private static List<String> lines(Path file) throws IOException {
        return Files.exists(file) ? Files.readAllLines(file, StandardCharsets.UTF_8) : List.of();
    }

    private static <T> Map<String, T> results(Path directory, String prefix, Class<T> type) throws IOException {
        Map<String, T> results = new TreeMap<>();
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                String name = Objects.toString(file.getFileName());
                if (name.startsWith(prefix) && name.endsWith(SUFFIX)) {
                    results.put(name.substring(0, name.length() - SUFFIX.length()), value(file, type));
                }
            }
        }
        return results;
    }
}
