/**
 * Parallel training across ranks: the process grid and its groups, the sharding of weights and sequences, the interface
 * of collective communication, and gradient buckets. This package knows neither layers nor parameters. The back ends
 * implement the transports.
 */
package org.isobar.distributed;
