/** Benchmarks of this process: training steps, operations, ceilings, the loader. */
package org.isobar.bench.measure;
