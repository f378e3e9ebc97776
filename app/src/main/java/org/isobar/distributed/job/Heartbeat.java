package org.isobar.distributed.job;

import java.io.EOFException;
import java.io.IOException;
import java.util.Locale;

/** One end of the connection over which two ranks give each other signs of life. */
final class Heartbeat {
    private static final int BEAT = 0;
    private static final int ABORT = 1;
    private static final int FAREWELL = 2;
    /** What one frame can carry: a string of DataOutput has at most 65,535 bytes. */
    private static final int LONGEST = 20_000;

    private final int rank;
    private final Connection connection;
    private final Listener listener;
    private volatile long heard = System.nanoTime();
    private volatile RankStatus status = new RankStatus(0, "");
    private volatile boolean left;

    Heartbeat(int rank, Connection connection, Listener listener) {
        this.rank = rank;
        this.connection = connection;
        this.listener = listener;
    }

    int rank() {
        return rank;
    }

    /** What it said last. */
    RankStatus status() {
        return status;
    }

    /** Whether it has taken leave, or is gone. */
    boolean left() {
        return left;
    }

    /** Nanoseconds since it was heard; 0 once it has taken leave. */
    long silentFor(long now) {
        return left ? 0 : now - heard;
    }

    /** Starts the count of {@link #silentFor} anew. */
    void forgive() {
        heard = System.nanoTime();
    }

    /** Hears the peer until its connection ends. After its farewell, rank 0 still passes on why the job has failed. */
    void listen() {
        try {
            while (true) {
                int frame = connection.in().readByte();
                heard = System.nanoTime();
                switch (frame) {
                    case BEAT -> status = new RankStatus(connection.in().readLong(), connection.in().readUTF());
                    case ABORT -> listener.failed(connection.in().readUTF());
                    case FAREWELL -> left = true;
                    default -> throw new IOException(String.format(Locale.ROOT, "frame %02x", frame));
                }
            }
        } catch (EOFException end) {
            lost(new IOException("end of stream", end));
        } catch (IOException gone) {
            lost(gone);
        }
    }

    private void lost(IOException how) {
        if (!left) {
            listener.lost(rank, how);
            left = true;
        }
    }

    void beat(RankStatus own) {
        send(BEAT, own, null);
    }

    void abort(String reason) {
        send(ABORT, null, reason);
    }

    void farewell() {
        send(FAREWELL, null, null);
    }

    /** Frames are short and rare: they always find room in the socket's buffer, even if the peer is stopped. */
    private void send(int frame, RankStatus own, String reason) {
        synchronized (connection) {
            try {
                connection.out().writeByte(frame);
                if (own != null) {
                    connection.out().writeLong(own.progress());
                    connection.out().writeUTF(cut(own.waiting()));
                }
                if (reason != null) {
                    connection.out().writeUTF(cut(reason));
                }
                connection.out().flush();
            } catch (IOException gone) { // the listening side says so
                return;
            }
        }
    }

    private static String cut(String text) {
        return text.length() <= LONGEST ? text : text.substring(0, LONGEST);
    }

    void close() {
        connection.close();
    }

    /** Receives what a peer reports of the job, and the loss of the peer. */
    interface Listener {
        /** The peer has reported that the job failed for {@code reason}. */
        void failed(String reason);

        /** The connection to {@code rank} ended without a farewell. */
        void lost(int rank, IOException cause);
    }
}
