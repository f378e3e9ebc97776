package org.isobar.forecast;

import java.lang.foreign.MemorySegment;

/** Receives the fields of a roll-out, step by step. */
public interface LeadConsumer {
    /**
     * Receives one forecast. A roll-out calls it from one thread, for each start in the order of its steps. Starts of
     * one batch take turns.
     *
     * @param start  the initial time
     * @param step   number of model steps from it, from 1
     * @param fields (Cout, H, W), floats in native byte order, in the units of the data; valid during the call
     */
    void accept(StartTime start, int step, MemorySegment fields);
}
