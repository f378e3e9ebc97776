package org.isobar.device;

/**
 * Named time ranges for a profiler, and control of its recording window. Any thread may open a range, and must close it
 * itself.
 */
public interface ProfilerRanges {
    /** Marks nothing. */
    ProfilerRanges NONE = new ProfilerRanges() {
        @Override
        public Range open(String name) {
            return () -> { };
        }

        @Override
        public void startProfiler() { }

        @Override
        public void stopProfiler() { }
    };

    /** Opens a range on the calling thread, which closes it. Ranges of a thread nest. */
    Range open(String name);

    /** Starts recording, if a profiler is attached and waits for this call. */
    void startProfiler();

    /** Stops recording. */
    void stopProfiler();

    /** An open range. */
    interface Range extends AutoCloseable {
        /** Ends the range. */
        @Override
        void close();
    }
}
