/**
 * The CPU back end: oneDNN for matrix products, the Vector API over off-heap memory for all other operations, and one
 * thread pool for both.
 */
package org.isobar.backend.cpu;
