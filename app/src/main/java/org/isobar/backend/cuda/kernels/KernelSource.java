package org.isobar.backend.cuda.kernels;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The source of a kernel with every header that it includes, directly or indirectly.
 *
 * @param file    such as "layer_norm.cu"
 * @param text    content of the file
 * @param headers content of the headers by name, sorted by name
 */
public record KernelSource(String file, String text, Map<String, String> headers) {
    private static final Pattern INCLUDE = Pattern.compile("^\\s*#\\s*include\\s*\"([^\"]+)\"", Pattern.MULTILINE);

    public KernelSource {
        headers = Collections.unmodifiableSortedMap(new TreeMap<>(headers));
    }

    /** Reads a file of the resource folder {@code kernels}. */
    public static KernelSource load(String file) {
        String text = read(file);
        Map<String, String> headers = new TreeMap<>();
        addHeaders(headers, text);
        return new KernelSource(file, text, headers);
    }

    private static void addHeaders(Map<String, String> headers, String text) {
        for (Matcher include = INCLUDE.matcher(text); include.find();) {
            String name = include.group(1);
            if (!headers.containsKey(name)) {
                String header = read(name);
                headers.put(name, header);
                addHeaders(headers, header);
            }
        }
    }

    private static String read(String file) {
        try (InputStream resource = KernelSource.class.getResourceAsStream(file)) {
            if (resource == null) {
                throw new IllegalArgumentException("there is no kernel source " + file);
            }
            return new String(resource.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
