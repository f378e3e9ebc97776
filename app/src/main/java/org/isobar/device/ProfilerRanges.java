package org.isobar.device;

/** Named stretches of time that a profiler shows, and the window in which it looks. */
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

    /** Begins a stretch; stretches nest. */
    Range open(String name);

    /** The profiler, if one watches and waits for this, begins to record. */
    void startProfiler();

    /** The profiler ends its record. */
    void stopProfiler();

    /** A stretch under way. */
    interface Range extends AutoCloseable {
        /** Ends it. */
        @Override
        void close();
    }
}
