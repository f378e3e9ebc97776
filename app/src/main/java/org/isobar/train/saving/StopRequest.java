package org.isobar.train.saving;

/** The wish from outside that this process should end. */
public interface StopRequest {
    /** Nobody ever asks. */
    StopRequest NONE = new StopRequest() {
        @Override
        public void arm() { }

        @Override
        public boolean isRequested() {
            return false;
        }
    };

    /** From now on somebody looks at {@link #isRequested}; before, the process ends at once. */
    void arm();

    /** Whether the process should end as soon as what it has done is safe. */
    boolean isRequested();
}
