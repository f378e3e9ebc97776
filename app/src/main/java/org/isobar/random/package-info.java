/**
 * Counter-based random numbers: a value is a pure function of seed, purpose and global index, so that weights, masks
 * and data order are the same whatever the number of ranks and threads.
 */
package org.isobar.random;
