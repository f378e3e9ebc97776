/**
 * The CPU back end: oneDNN or machine code of our own for matrix products, the Vector API over off-heap memory for all
 * other operations, and one thread pool for both.
 */
package org.isobar.backend.cpu;
