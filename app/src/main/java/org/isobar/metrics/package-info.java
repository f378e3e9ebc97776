/**
 * Forecast scores in double precision on the host, and plots of fields, drawn without fonts or windows of the system.
 */
package org.isobar.metrics;
