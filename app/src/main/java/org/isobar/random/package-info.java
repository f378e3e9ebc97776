/**
 * Counter-based random numbers: a value is a pure function of seed, purpose and global index. Weights, masks and data
 * order are therefore the same for any number of ranks and threads.
 */
package org.isobar.random;
