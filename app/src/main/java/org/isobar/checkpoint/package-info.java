/**
 * Weights on disk: safetensors files, and checkpoints, which are directories of them. Both are written whole or not at
 * all and read with suspicion. {@code docs/checkpoints.md} describes the format.
 */
package org.isobar.checkpoint;
