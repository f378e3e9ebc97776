package org.isobar.distributed;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.Locale;

import org.isobar.tensor.DType;

/**
 * The description of one operation that a rank has issued to its group. All ranks of the group must issue matching
 * calls in the same order.
 *
 * @param kind      kind of operation
 * @param number    sequence number: how many operations of this group the rank had issued before; for {@link Kind#SEND}
 *                  and {@link Kind#RECEIVE}, how many in this direction with this peer
 * @param dtype     type of the elements
 * @param reduction how values are combined; {@link Reduction#SUM} for operations that do not reduce
 * @param root      index in the group of the rank whose tensor is broadcast, or of the peer; otherwise 0
 * @param parts     number of elements of each rank's part, in group order; for a broadcast, send or receive, one entry
 */
public record CollectiveCall(Kind kind, long number, DType dtype, Reduction reduction, int root, PartSizes parts) {
    /**
     * The order in which calls that were issued together run one after the other: collectives, then sends, then
     * receives. Ranks that all received before they sent would deadlock.
     */
    public static final Comparator<CollectiveCall> GROUP_ORDER =
        Comparator.comparing(call -> call.kind == Kind.RECEIVE ? 2 : call.kind == Kind.SEND ? 1 : 0);
    /** Size of a {@link #header} in bytes. */
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

    /** Number of elements of each rank's part; must not be changed. */
    public long[] sizes() {
        return parts.sizes();
    }

    /** Number of elements of all parts together. */
    public long elements() {
        return parts.elements();
    }

    /** Whether the parts of all ranks have the same size. */
    public boolean even() {
        return parts.even();
    }

    /** What must match between the ranks of a collective, and between sender and receiver, in 48 bytes. */
    public ByteBuffer header() {
        Kind common = kind == Kind.RECEIVE ? Kind.SEND : kind;
        return ByteBuffer.allocate(HEADER).putInt(common.ordinal()).putInt(dtype.ordinal()).putLong(number)
            .putLong(elements()).putLong(parts.hashCode()).putInt(common == Kind.SEND ? 0 : root)
            .putInt(reduction.kind().ordinal()).putDouble(reduction.factor()).flip();
    }

    /** Describes how a peer's {@link #header} differs from the header of this call; null if they match. */
    public String difference(ByteBuffer peer) {
        if (peer.equals(header())) {
            return null;
        }
        int kindOfPeer = peer.getInt(0);
        int dtypeOfPeer = peer.getInt(4);
        if (kindOfPeer < 0 || kindOfPeer >= Kind.values().length || dtypeOfPeer < 0
            || dtypeOfPeer >= DType.values().length) {
            return "has sent a header that is not valid";
        }
        String issued = describe(Kind.values()[kindOfPeer], peer.getLong(8), peer.getLong(16),
            DType.values()[dtypeOfPeer]);
        return "has issued " + issued + (issued.equals(toString())
            ? " with different part sizes, another root or another reduction" : "");
    }

    /** Rank, group and call, for messages: {@code rank 1, group tp [0, 1], operation 7 (all-reduce of 1000 F32)}. */
    public String place(ProcessGroup group) {
        return "rank " + group.rank() + ", " + group + ", " + this;
    }

    private static String describe(Kind kind, long number, long elements, DType dtype) {
        return "operation " + number + " (" + kind.name().toLowerCase(Locale.ROOT).replace('_', '-')
            + (kind == Kind.BARRIER ? "" : " of " + elements + " " + dtype) + ")";
    }

    /** Number, kind, size and type: {@code operation 7 (all-reduce of 1000 F32)}. */
    @Override
    public String toString() {
        return describe(kind, number, elements(), dtype);
    }
}
