/** Collectives between GPUs through pinned host memory. */
package org.isobar.backend.cuda.staged;
