/** Attention on the CPU, forward and backward, computed in blocks of queries and keys. */
package org.isobar.backend.cpu.attention;
