package org.isobar.checkpoint;

import java.util.Map;

/**
 * What a checkpoint holds besides tensors.
 *
 * @param configuration configuration of the run, key to value
 * @param state         state of the training loop: any record that Jackson converts to JSON and back. Numbers keep
 *                      their bits; a NaN stays a NaN
 */
public record CheckpointMetadata(Map<String, String> configuration, Object state) { }
