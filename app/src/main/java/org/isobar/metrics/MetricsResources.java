package org.isobar.metrics;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Reads text files from the resources of this package. */
final class MetricsResources {
    private MetricsResources() { }

    static List<String> lines(String name) {
        try (InputStream stream = MetricsResources.class.getResourceAsStream(name)) {
            return new String(stream.readAllBytes(), StandardCharsets.US_ASCII).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
