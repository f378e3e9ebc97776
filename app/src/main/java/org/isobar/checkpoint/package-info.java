/**
 * Reads and writes checkpoints, which are directories of safetensors files. They are written atomically and verified
 * when read. {@code docs/checkpoints.md} describes the format.
 */
package org.isobar.checkpoint;
