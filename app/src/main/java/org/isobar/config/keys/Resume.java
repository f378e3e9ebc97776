package org.isobar.config.keys;

import java.nio.file.Path;

/** The checkpoint that a run starts from ({@code --resume}). */
public sealed interface Resume {
    /** None: the run starts with the first step. */
    record Never() implements Resume {
        @Override
        public String toString() {
            return "never";
        }
    }

    /** The newest intact checkpoint of the run's own directory; none if there is none. */
    record Auto() implements Resume {
        @Override
        public String toString() {
            return "auto";
        }
    }

    /**
     * A given checkpoint.
     *
     * @param path a checkpoint, or a directory of checkpoints, of which the newest intact one is used
     */
    record From(Path path) implements Resume {
        @Override
        public String toString() {
            return path.toString();
        }
    }
}
