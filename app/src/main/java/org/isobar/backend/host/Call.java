package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;

import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;

/**
 * One operation as a rank has issued it.
 *
 * @param kind      what is asked for
 * @param number    how many operations of this group the rank had issued before; for {@link Kind#SEND} and
 *                  {@link Kind#RECEIVE}, how many in this direction with this peer
 * @param dtype     type of the elements
 * @param reduction how values are combined, where they are
 * @param root      place in the group of the rank whose tensor is broadcast, or of the peer; else 0
 * @param sizes     elements of each rank's part, in order; the part of all, where they are not told apart
 * @param out       memory that receives the result
 * @param in        memory that is read; may be {@code out} or part of it
 */
record Call(Kind kind, long number, DType dtype, Reduction reduction, int root, long[] sizes, MemorySegment out,
    MemorySegment in) {
    /** Bytes of {@link #header}. */
    static final int HEADER = 48;

    /** Kinds of operations. */
    enum Kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, SEND, RECEIVE, BARRIER }

    /** Elements of all parts. */
    long elements() {
        return Arrays.stream(sizes).sum();
    }

    /** Where each rank's part lies. */
    Parts parts() {
        return new Parts(sizes, dtype.bytes());
    }

    /** What the ranks of a collective must have in common, and two that exchange a tensor too, in 48 bytes. */
    ByteBuffer header() {
        Kind common = kind == Kind.RECEIVE ? Kind.SEND : kind;
        return ByteBuffer.allocate(HEADER).putInt(common.ordinal()).putInt(dtype.ordinal()).putLong(number)
            .putLong(elements()).putLong(Arrays.hashCode(sizes)).putInt(common == Kind.SEND ? 0 : root)
            .putInt(reduction.kind().ordinal()).putDouble(reduction.factor()).flip();
    }

    /** How a peer's {@link #header} differs from this call's, in words; null if it does not. */
    String difference(ByteBuffer peer) {
        if (peer.equals(header())) {
            return null;
        }
        int kindOfPeer = peer.getInt(0);
        int dtypeOfPeer = peer.getInt(4);
        if (kindOfPeer < 0 || kindOfPeer >= Kind.values().length || dtypeOfPeer < 0
            || dtypeOfPeer >= DType.values().length) {
            return "sends something that is no operation";
        }
        String issued = words(Kind.values()[kindOfPeer], peer.getLong(8), peer.getLong(16),
            DType.values()[dtypeOfPeer]);
        return "has issued " + issued + (issued.equals(toString())
            ? " with other parts, another root or another reduction" : "");
    }

    private static String words(Kind kind, long number, long elements, DType dtype) {
        return "operation " + number + " (" + kind.name().toLowerCase(Locale.ROOT).replace('_', '-')
            + (kind == Kind.BARRIER ? "" : " of " + elements + " " + dtype) + ")";
    }

    /** The call in words: {@code operation 7 (all-reduce of 1000 F32)}. */
    @Override
    public String toString() {
        return words(kind, number, elements(), dtype);
    }
}
