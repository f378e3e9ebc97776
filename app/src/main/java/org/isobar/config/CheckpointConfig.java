package org.isobar.config;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * When to save checkpoints, besides at the end of each epoch and when asked to end, and where to begin.
 *
 * @param resume   where the run begins
 * @param force    resume even though the result may be another than that of the run that made the checkpoint
 * @param every    save after each so many steps
 * @param interval save when so much time has passed since the last
 * @param keep     how many of the newest stay, besides the best; 0 for no checkpoints at all
 */
public record CheckpointConfig(Resume resume, boolean force, OptionalInt every, Optional<Duration> interval,
    int keep) { }
