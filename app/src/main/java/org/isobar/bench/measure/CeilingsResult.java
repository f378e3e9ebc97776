package org.isobar.bench.measure;

import java.util.Map;

/**
 * The most that a device gives, where that was measured.
 *
 * @param program  who measured it: isobar or pytorch
 * @param device   what was measured; null where it is not said
 * @param copied   bytes of the range that was copied
 * @param copy     bytes read and written per second in copies within the device's memory; null where not measured
 * @param size     rows and columns of the products' square matrices
 * @param products floating-point operations per second of products by what they take in; values null likewise
 */
public record CeilingsResult(String program, String device, long copied, Spread copy, int size,
    Map<String, Spread> products) { }
