/**
 * Collectives between ranks whose tensors lie in host memory: over sockets, for several processes, and through the
 * memory itself, for ranks that are threads of one process. Both give the same bits.
 */
package org.isobar.backend.host;
