package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Decompresses BloscLZ, Blosc's own variant of FastLZ. A command is a byte: below 32 it is the number of literal bytes
 * less one; else its upper three bits are the length of a match less two, continued in further bytes, and its lower
 * five bits are the upper part of the match's distance.
 */
final class BloscLz {
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final int LITERALS = 32;
    private static final int DISTANCE_BITS = 5;
    private static final int LONGEST_SHORT = 7; // in the command; further bytes follow
    private static final int SHORTEST = 2;
    private static final int MAX_BYTE = 0xFF;
    private static final int FAR = 31 << Byte.SIZE; // an upper part of the distance that announces a 16-bit one
    private static final int FAR_DISTANCE = 8191;

    private final MemorySegment block;
    private long at;

    private BloscLz(MemorySegment block) {
        this.block = block;
    }

    /**
     * Decompresses a block.
     *
     * @throws DamagedChunk if it is damaged, or has not as many bytes as {@code target}
     */
    static void decompress(MemorySegment block, MemorySegment target) throws DamagedChunk {
        try {
            long bytes = new BloscLz(block).decompress(target);
            if (bytes != target.byteSize()) {
                throw new DamagedChunk("its BloscLZ data has " + bytes + " bytes instead of " + target.byteSize());
            }
        } catch (IndexOutOfBoundsException damaged) {
            throw new DamagedChunk("its BloscLZ data is damaged", damaged);
        }
    }

    private long decompress(MemorySegment target) {
        long done = 0;
        int command = next() & LITERALS - 1; // the upper bits of the first one are a version
        while (true) {
            if (command < LITERALS) {
                MemorySegment.copy(block, at, target, done, command + 1);
                at += command + 1;
                done += command + 1;
            } else {
                int length = length(command >> DISTANCE_BITS);
                long distance = distance((command & LITERALS - 1) << Byte.SIZE);
                for (int i = 0; i < length; i++, done++) { // one by one: a match may overlap itself
                    target.set(BYTE, done, target.get(BYTE, done - distance));
                }
            }
            if (at == block.byteSize()) {
                return done;
            }
            command = next();
        }
    }

    private int length(int first) {
        int length = first;
        if (first == LONGEST_SHORT) {
            int more;
            do {
                more = next();
                length = Math.addExact(length, more);
            } while (more == MAX_BYTE);
        }
        return length + SHORTEST;
    }

    private long distance(int upper) {
        int lower = next();
        if (lower == MAX_BYTE && upper == FAR) {
            return (next() << Byte.SIZE) + next() + FAR_DISTANCE + 1L;
        }
        return upper + lower + 1L;
    }

    private int next() {
        return block.get(BYTE, at++) & MAX_BYTE;
    }
}
