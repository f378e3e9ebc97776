package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.telemetry.EventFile;
import org.tensorflow.framework.Summary;
import org.tensorflow.util.Event;

/**
 * What a whole run has left, as far as it does not depend on the time it took: two runs of which one was disturbed have
 * the same.
 *
 * @param losses  of the log: each line with one, without its time
 * @param events  of the newest TensorBoard file: tag, step and value of each, without speeds
 * @param weights the bytes of the file of weights
 */
record RunTrace(List<String> losses, List<String> events, byte[] weights) {

    /** What the run in {@code directory} has left. */
    static RunTrace of(Path directory) throws IOException {
        return new RunTrace(losses(directory), events(directory),
            Files.readAllBytes(directory.resolve("model.safetensors")));
    }

    /** The lines of the log that tell a loss, without their time. */
    static List<String> losses(Path directory) throws IOException {
        return Files.readAllLines(directory.resolve("out.log")).stream()
            .filter(line -> line.matches(".*Avg (train|val) loss=.*"))
            .map(line -> line.substring(line.indexOf("Avg"))).toList();
    }

    private static List<String> events(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve("logs"))) {
            Path newest = files.max(Comparator.comparing(file -> file.toFile().lastModified())).orElseThrow();
            return EventFile.read(newest).events().stream().skip(1).map(RunTrace::text)
                .filter(event -> !event.contains(" per sec")).toList();
        }
    }

    private static String text(Event event) {
        Summary.Value value = event.getSummary().getValue(0);
        return value.getTag() + " @ " + event.getStep() + ": " + (value.hasImage()
            ? Arrays.hashCode(value.getImage().getEncodedImageString().toByteArray()) : value.getSimpleValue());
    }

    /** Fails unless {@code found} is the same, to the last bit. */
    void assertIs(RunTrace found, String message) {
        assertLossesAndWeightsAreThoseOf(found, message);
        assertEquals(events, found.events, message);
    }

    /** Fails unless these are the same, to the last bit. */
    void assertLossesAndWeightsAreThoseOf(RunTrace found, String message) {
        assertEquals(losses, found.losses, message);
        assertArrayEquals(weights, found.weights, message);
    }
}
