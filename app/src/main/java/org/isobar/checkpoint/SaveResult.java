package org.isobar.checkpoint;

import java.nio.file.Path;

/** What became of the writing of a checkpoint. A failure is no exception, for it must not cost the run. */
public sealed interface SaveResult {
    /**
     * All went well: on rank 0 the checkpoint is complete; on another rank its own share is written.
     *
     * @param path where the checkpoint is or will be
     */
    record Done(Path path) implements SaveResult { }

    /**
     * There is no such checkpoint. Older ones are as they were.
     *
     * @param reason which checkpoint, what is wrong and what to do: a warning's text
     */
    record Failed(String reason) implements SaveResult { }
}
