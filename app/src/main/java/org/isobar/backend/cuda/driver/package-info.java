/** The CUDA driver API: the libraries of the machine, the GPU and its context, memory, streams, events, graphs. */
package org.isobar.backend.cuda.driver;
