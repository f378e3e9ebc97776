/**
 * ERA5 files to prefetched batches: the tutorial's indexing and normalization, reading that is one pass from the mapped
 * file into the memory from which the device takes its input, and the order in which samples come.
 */
package org.isobar.data;
