package org.isobar.forecast;

import java.lang.foreign.MemorySegment;
import java.util.List;

import org.isobar.telemetry.CountProgress;

/** Receives the fields of a roll-out, step by step. */
public interface LeadConsumer {
    /**
     * Receives one forecast. A roll-out calls it from one thread, for each start in the order of its steps. Starts of
     * one batch take turns.
     *
     * @param start  the initial time
     * @param step   number of model steps from it, from 1
     * @param fields (Cout, H, W), floats in native byte order, in the units of the data; valid until the end of the
     *               next call of {@link #finish}
     */
    void accept(StartTime start, int step, MemorySegment fields);

    /**
     * Receives the forecasts of a batch of starts at one step. A roll-out calls this method; by default, it delivers
     * one forecast after the other.
     *
     * @param fields (starts, Cout, H, W), as above
     */
    default void acceptAll(List<StartTime> starts, int step, MemorySegment fields) {
        long bytes = fields.byteSize() / starts.size();
        for (int i = 0; i < starts.size(); i++) {
            accept(starts.get(i), step, fields.asSlice(i * bytes, bytes));
        }
    }

    /**
     * Returns when nothing reads received fields any longer. A roll-out calls this method before it writes other fields
     * in their place, and at the end.
     */
    default void finish() { }

    /** This consumer, which also counts each forecast in a progress bar. */
    default LeadConsumer counted(CountProgress progress) {
        LeadConsumer consumer = this;
        return new LeadConsumer() {
            @Override
            public void accept(StartTime start, int step, MemorySegment fields) {
                acceptAll(List.of(start), step, fields);
            }

            @Override
            public void acceptAll(List<StartTime> starts, int step, MemorySegment fields) {
                consumer.acceptAll(starts, step, fields);
                starts.forEach(start -> progress.one(start.toString()));
            }

            @Override
            public void finish() {
                consumer.finish();
            }
        };
    }
}
