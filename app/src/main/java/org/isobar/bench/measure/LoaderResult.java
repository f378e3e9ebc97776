package org.isobar.bench.measure;

import java.util.List;
import java.util.Map;

/**
 * Result of the loader benchmark: read rates from files in the page cache. {@code bench/loader_h5py.py} writes the same
 * format.
 *
 * @param program     isobar or h5py
 * @param sampleBytes bytes of a sample, which is two frames
 * @param rates       one for each variant
 * @param facts       further information by name
 */
public record LoaderResult(String program, long sampleBytes, List<Rate> rates, Map<String, String> facts) {
    /** {@link Rate#layout} of copies in memory. */
    public static final String MEMORY = "memory";

    /**
     * Read rate of one variant.
     *
     * @param layout  layout of the file: contiguous, chunked or gzip; {@code memory} for copies in memory
     * @param way     the variant, such as "2 workers"
     * @param threads number of reading threads
     * @param bytes   bytes of samples per second; null if not measured
     */
    public record Rate(String layout, String way, int threads, Spread bytes) { }
}
