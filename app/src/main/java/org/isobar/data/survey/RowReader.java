package org.isobar.data.survey;

import java.lang.foreign.MemorySegment;

/** Reads consecutive rows of a frame, in single precision and native byte order. Is called by several threads. */
@FunctionalInterface
public interface RowReader {
    /**
     * Reads rows, which are counted over all channels: row j of channel c has the number {@code c * height + j}.
     *
     * @param target receives (rows, width)
     * @param offset byte offset in {@code target}
     * @throws org.isobar.fault.UserException if they cannot be read
     */
    void readRows(int time, int firstRow, int rows, MemorySegment target, long offset);
}
