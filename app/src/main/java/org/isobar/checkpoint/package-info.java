/** Weights on disk: safetensors files, written whole or not at all and read with suspicion. */
package org.isobar.checkpoint;
