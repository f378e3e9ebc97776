package org.isobar.checkpoint;

import java.nio.file.Path;

/** Result of writing a checkpoint. A failure is a value and not an exception, because the run continues after it. */
public sealed interface SaveResult {
    /**
     * Success: on rank 0 the checkpoint is complete; on another rank its own shard is written.
     *
     * @param path path of the checkpoint
     */
    record Done(Path path) implements SaveResult { }

    /**
     * The checkpoint was not saved. Older checkpoints are unchanged.
     *
     * @param reason text of a warning: which checkpoint, what is wrong and what to do
     */
    record Failed(String reason) implements SaveResult { }
}
