package org.isobar.train;

/** The wish from outside that this process should end. */
public interface Interruption {
    /** Nobody ever asks. */
    Interruption NONE = new Interruption() {
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
