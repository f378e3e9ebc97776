package org.isobar.config.keys;

import java.nio.file.Path;

/** Where a run begins ({@code --resume}). */
public sealed interface Resume {
    /** With the first step, whatever is there. */
    record Never() implements Resume {
        @Override
        public String toString() {
            return "never";
        }
    }

    /** Where the newest sound checkpoint of the run's own directory was made; with the first step if there is none. */
    record Auto() implements Resume {
        @Override
        public String toString() {
            return "auto";
        }
    }

    /**
     * Where that checkpoint was made.
     *
     * @param path a checkpoint, or a directory of some, of which the newest sound one counts
     */
    record From(Path path) implements Resume {
        @Override
        public String toString() {
            return path.toString();
        }
    }
}
