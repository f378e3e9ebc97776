package org.isobar.bench.measure;

import java.util.Map;

/**
 * Highest measured throughput of a device.
 *
 * @param program  the program that measured: isobar or pytorch
 * @param device   description of the device; null if unknown
 * @param copied   size of the copied range in bytes
 * @param copy     bytes read and written per second by copies in device memory; null if not measured
 * @param size     rows and columns of the square matrices
 * @param products floating-point operations per second of matrix products, by operand type; values are null if not
 *                 measured
 */
public record CeilingsResult(String program, String device, long copied, Spread copy, int size,
    Map<String, Spread> products) { }
