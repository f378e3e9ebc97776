/** Vectors of the Java Vector API over off-heap memory, and elementary functions on them, in F32 and BF16. */
package org.isobar.backend.cpu.vector;
