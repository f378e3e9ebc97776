/**
 * Collectives for tensors in host memory: over TCP sockets between processes, and through shared memory between ranks
 * that are threads of one process. Both give the same bits.
 */
package org.isobar.backend.host;
