package org.isobar.distributed;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;

import org.isobar.tensor.DType;

/**
 * One operation as a rank has issued it to its group: what the others must have issued too.
 *
 * @param kind      what is asked for
 * @param number    how many operations of this group the rank had issued before; for {@link Kind#SEND} and
 *                  {@link Kind#RECEIVE}, how many in this direction with this peer
 * @param dtype     type of the elements
 * @param reduction how values are combined, where they are
 * @param root      place in the group of the rank whose tensor is broadcast, or of the peer; else 0
 * @param sizes     elements of each rank's part, in order; the part of all, where they are not told apart
 */
public record CollectiveCall(Kind kind, long number, DType dtype, Reduction reduction, int root, long[] sizes) {
    /**
     * For those who run one after the other what was issued as one: sends, and last receives, wherever they stand.
     * Ranks that all receive before they send would wait for each other.
     */
    public static final Comparator<CollectiveCall> GROUP_ORDER =
        Comparator.comparing(operation -> operation.kind == Kind.RECEIVE ? 2 : operation.kind == Kind.SEND ? 1 : 0);
    /** Bytes of {@link #header}. */
    public static final int HEADER = 48;

    /** Kinds of operations. */
    public enum Kind {
        /** {@link Communicator#allReduce}. */
        ALL_REDUCE,
        /** {@link Communicator#allGather(org.isobar.tensor.Tensor, org.isobar.tensor.Tensor, long...)}. */
        ALL_GATHER,
        /**
         * {@link Communicator#reduceScatter(org.isobar.tensor.Tensor, org.isobar.tensor.Tensor, Reduction, long...)}.
         */
        REDUCE_SCATTER,
        /** {@link Communicator#broadcast}. */
        BROADCAST,
        /** {@link Communicator#send}. */
        SEND,
        /** {@link Communicator#receive}. */
        RECEIVE,
        /** {@link Communicator#barrier}. */
        BARRIER
    }

    /** Elements of all parts. */
    public long elements() {
        long elements = 0;
        for (long size : sizes) {
            elements += size;
        }
        return elements;
    }

    /** Whether all ranks have parts of one size. */
    public boolean even() {
        for (long size : sizes) {
            if (size != sizes[0]) {
                return false;
            }
        }
        return true;
    }

    /** What the ranks of a collective must have in common, and two that exchange a tensor too, in 48 bytes. */
    public ByteBuffer header() {
        Kind common = kind == Kind.RECEIVE ? Kind.SEND : kind;
        return ByteBuffer.allocate(HEADER).putInt(common.ordinal()).putInt(dtype.ordinal()).putLong(number)
            .putLong(elements()).putLong(Arrays.hashCode(sizes)).putInt(common == Kind.SEND ? 0 : root)
            .putInt(reduction.kind().ordinal()).putDouble(reduction.factor()).flip();
    }

    /** How a peer's {@link #header} differs from this operation's, in words; null if it does not. */
    public String difference(ByteBuffer peer) {
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

    /** Where in the job this is: {@code rank 1, group tp [0, 1], operation 7 (all-reduce of 1000 F32)}. */
    public String place(ProcessGroup group) {
        return "rank " + group.rank() + ", " + group + ", " + this;
    }

    private static String words(Kind kind, long number, long elements, DType dtype) {
        return "operation " + number + " (" + kind.name().toLowerCase(Locale.ROOT).replace('_', '-')
            + (kind == Kind.BARRIER ? "" : " of " + elements + " " + dtype) + ")";
    }

    /** The operation in words: {@code operation 7 (all-reduce of 1000 F32)}. */
    @Override
    public String toString() {
        return words(kind, number, elements(), dtype);
    }
}
