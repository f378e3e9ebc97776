package org.isobar.config;

import org.isobar.device.AttentionEngine;

/**
 * What selects the engine of attention.
 *
 * @param choice        the configured choice
 * @param drops         whether training drops attention weights
 * @param deterministic whether each run must give the same bits
 */
public record AttentionConfig(AttentionEngine.Choice choice, boolean drops, boolean deterministic) { }
