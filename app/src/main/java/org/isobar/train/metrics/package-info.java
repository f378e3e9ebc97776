/** What a run writes to its file of metrics. */
package org.isobar.train.metrics;
