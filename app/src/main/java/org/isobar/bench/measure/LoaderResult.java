package org.isobar.bench.measure;

import java.util.List;
import java.util.Map;

/**
 * How fast samples come out of files that lie in the system's cache. {@code bench/loader_h5py.py} writes the same.
 *
 * @param program     isobar or h5py
 * @param sampleBytes of the two fields of a sample
 * @param rates       of each way of reading
 * @param facts       what else is worth knowing
 */
public record LoaderResult(String program, long sampleBytes, List<Rate> rates, Map<String, String> facts) {
    /** {@link Rate#layout} where nothing is read. */
    public static final String MEMORY = "memory";

    /**
     * One way of reading.
     *
     * @param layout  of the file: contiguous, chunked or gzip; {@code memory} where nothing is read
     * @param way     who reads, and how
     * @param threads that read
     * @param bytes   of samples per second; null where not measured
     */
    public record Rate(String layout, String way, int threads, Spread bytes) { }
}
