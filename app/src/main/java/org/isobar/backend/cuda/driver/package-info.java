/** The CUDA driver API: libraries, the GPU and its context, memory, streams, events and graphs. */
package org.isobar.backend.cuda.driver;
