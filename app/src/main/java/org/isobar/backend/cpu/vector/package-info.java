/** Vectors of the Java Vector API over off-heap memory, in F32 and BF16. */
package org.isobar.backend.cpu.vector;
