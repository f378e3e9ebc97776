package org.isobar.plan.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;

/**
 * A run of the tutorial's program that its published logs tell of.
 *
 * @param preset        preset
 * @param gpus          number of GPUs
 * @param gpu           kind of GPU
 * @param year          year of the program's version
 * @param options       its options
 * @param samplesPerS   samples per second of its epochs
 * @param memoryGb      GiB after the first forward pass, and at most
 * @param scaffoldingGb GiB before training
 */
record RecordedRun(String preset, int gpus, String gpu, int year, String options, List<Double> samplesPerS,
    @JsonProperty("memory_GB") List<Double> memoryGb, @JsonProperty("scaffolding_GB") Double scaffoldingGb) {

    /** The file of all runs. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    private record Runs(List<RecordedRun> runs) { }

    /** All recorded runs. */
    static List<RecordedRun> all() {
        try (InputStream file = RecordedRun.class.getResourceAsStream("recorded_runs.json")) {
            return JsonMapper.builder().propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE).build()
                .readValue(file, Runs.class).runs();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    /** The mean of the epochs' samples per second. */
    double speed() {
        return samplesPerS.stream().mapToDouble(Double::doubleValue).average().orElseThrow();
    }
}
