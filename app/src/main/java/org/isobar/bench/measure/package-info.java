/** Benchmarks that run in this process: training steps, operations, device ceilings, the data loader. */
package org.isobar.bench.measure;
