/** Forecast scores in double precision on the host, and pictures of fields, without fonts or windows of the system. */
package org.isobar.metrics;
