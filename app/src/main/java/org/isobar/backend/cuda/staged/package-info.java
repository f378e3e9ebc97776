/** Collectives between GPUs by way of pinned host memory. */
package org.isobar.backend.cuda.staged;
