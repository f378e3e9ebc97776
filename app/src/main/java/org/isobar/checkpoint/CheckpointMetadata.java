package org.isobar.checkpoint;

import java.util.Map;

/**
 * What a checkpoint holds besides tensors.
 *
 * @param configuration keys and values of the run that makes it
 * @param state         of the training loop: any record that Jackson turns into JSON and back. Numbers keep their bits;
 *                      a NaN stays one
 */
public record CheckpointMetadata(Map<String, String> configuration, Object state) { }
