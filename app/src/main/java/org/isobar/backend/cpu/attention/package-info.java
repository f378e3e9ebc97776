/** Attention on the CPU, block by block, forward and backward. */
package org.isobar.backend.cpu.attention;
