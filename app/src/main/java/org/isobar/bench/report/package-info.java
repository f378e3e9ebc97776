/** Benchmark results as JSON, Markdown and SVG. */
package org.isobar.bench.report;
