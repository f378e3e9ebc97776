package org.isobar.telemetry;

import org.isobar.device.MemoryGauge;

/**
 * The most memory that this process has held. The kernel keeps the peak of all resident pages; mapped data files count
 * in it, so the peak of anonymous memory, which decides whether a run fits a machine, is kept here from readings.
 */
public final class MemoryWatermark implements MemoryGauge {
    private long anonymous;

    /** Takes a reading; call it where memory is at its height. */
    public synchronized ProcessMemory sample() {
        ProcessMemory now = ProcessMemory.now();
        anonymous = Math.max(anonymous, now.anonymous());
        return now;
    }

    /** The most resident bytes, mapped file pages included, since the process began. */
    @Override
    public long highWatermark() {
        return sample().peak();
    }

    /** The most anonymous bytes of all readings. */
    public synchronized long anonymousWatermark() {
        return anonymous;
    }
}
