package org.isobar.train;

import java.lang.foreign.MemorySegment;

import org.isobar.device.HostBuffer;

/** Roll-outs without fields, for a dry run. */
record DryRollOuts(int starts) implements RollOutFields {
    @Override
    public void begin(int first, int count) { }

    @Override
    public void write(HostBuffer images, int step) { }

    @Override
    public MemorySegment forecasts() {
        return MemorySegment.NULL;
    }

    @Override
    public void score(int step) { }

    @Override
    public Scores scores() {
        return new Scores(starts, new double[0][], new double[0][]);
    }

    @Override
    public void close() { }
}
