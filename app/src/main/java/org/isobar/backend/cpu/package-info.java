/**
 * The CPU back end: oneDNN for matrix products, the Vector API over off-heap memory for the rest, one pool of threads
 * for both.
 */
package org.isobar.backend.cpu;
