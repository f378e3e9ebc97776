/**
 * The CPU back end: machine code of our own or oneDNN for matrix products, machine code or the Vector API over off-heap
 * memory for all other operations, and one thread pool for both.
 */
package org.isobar.backend.cpu;
