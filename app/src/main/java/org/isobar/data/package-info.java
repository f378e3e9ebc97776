/**
 * Loads ERA5 files as prefetched batches: the tutorial's indexing and normalization, a single pass from the mapped file
 * to the memory that the device copies from, and the order of samples on each rank.
 */
package org.isobar.data;
