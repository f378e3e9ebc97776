package org.isobar.train.saving;

/** A request from outside the process, such as a signal, to save a checkpoint and stop. */
public interface StopRequest {
    /** Never requested. */
    StopRequest NONE = new StopRequest() {
        @Override
        public void arm() { }

        @Override
        public boolean isRequested() {
            return false;
        }
    };

    /** Starts recording requests. Before this call, a signal ends the process immediately. */
    void arm();

    /** Whether the process should save a checkpoint and stop. */
    boolean isRequested();
}
