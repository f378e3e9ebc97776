package org.isobar.distributed.job;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Locale;

/** One end of the connection over which two ranks send each other heartbeats and report failures. */
final class Heartbeat {
    private static final int BEAT = 0; // frame types
    private static final int ABORT = 1;
    private static final int FAREWELL = 2;
    private static final int DELEGATE = 3;
    private static final int FINDING = 4;
    private static final int CONFIRM = 5;
    /** Characters of a string in one frame: a string of DataOutput has at most 65,535 bytes. */
    private static final int MAX_TEXT = 20_000;
    private static final int BUFFER = 512; // more than most frames

    private final int rank;
    private final Connection connection;
    private final Listener listener;
    private volatile long lastReceived = System.nanoTime();
    private volatile RankStatus status = new RankStatus(0, "");
    private volatile boolean heard;
    private volatile boolean delegated;
    private volatile boolean left;

    Heartbeat(int rank, Connection connection, Listener listener) {
        this.rank = rank;
        this.connection = connection;
        this.listener = listener;
    }

    int rank() {
        return rank;
    }

    /** The last status that the peer has reported. */
    RankStatus status() {
        return status;
    }

    /** Whether the peer has said farewell or is lost. */
    boolean left() {
        return left;
    }

    /** Whether the peer has sent a frame. Until then, it may not know yet that the job has started. */
    boolean heard() {
        return heard;
    }

    /** Whether this rank and the peer exchange no heartbeats, because the peer does so with its parent. */
    boolean delegated() {
        return delegated;
    }

    /** Nanoseconds since the last frame of the peer, or since the start before there is one; 0 once it has left. */
    long silentFor(long now) {
        return left ? 0 : now - lastReceived;
    }

    /** Restarts the time that {@link #silentFor} measures. */
    void restartTimer() {
        lastReceived = System.nanoTime();
    }

    /** Reads frames until the connection ends. After its farewell, rank 0 may still report that the job has failed. */
    void listen() {
        DataInputStream in = new DataInputStream(new BufferedInputStream(connection.in(), BUFFER));
        try {
            while (true) {
                int frame = in.readByte();
                lastReceived = System.nanoTime();
                heard = true;
                switch (frame) {
                    case BEAT -> {
                        status = new RankStatus(in.readLong(), in.readUTF());
                        delegated = false;
                    }
                    case DELEGATE -> delegated = true;
                    case ABORT -> listener.failed(in.readUTF());
                    case FINDING -> listener.found(rank, in.readUTF());
                    case CONFIRM -> listener.confirmed();
                    case FAREWELL -> left = true;
                    default -> throw new IOException(String.format(Locale.ROOT, "unknown heartbeat frame %02x", frame));
                }
            }
        } catch (EOFException end) {
            lost(new IOException("end of stream", end));
        } catch (IOException gone) {
            lost(gone);
        }
    }

    private void lost(IOException cause) {
        if (!left) {
            listener.lost(rank, cause);
            left = true;
        }
    }

    void beat(RankStatus own) {
        send(BEAT, own, null);
    }

    /** Tells rank 0 that this rank exchanges heartbeats with its parent from now on. */
    void delegate() {
        delegated = true;
        send(DELEGATE, null, null);
    }

    /** Exchanges heartbeats with rank 0 again, because the parent has left. */
    void resume() {
        restartTimer();
        delegated = false;
    }

    void abort(String reason) {
        send(ABORT, null, reason);
    }

    /** Whether {@link #find} sends the whole text. */
    boolean fits(String finding) {
        return finding.length() <= MAX_TEXT;
    }

    /** Tells rank 0 what this rank has found. */
    void find(String finding) {
        send(FINDING, null, finding);
    }

    /** Tells a rank that its finding has been logged. */
    void confirm() {
        send(CONFIRM, null, null);
    }

    void farewell() {
        send(FAREWELL, null, null);
    }

    /** Does not block: frames are short and rare, so the socket buffer has room even if the peer is stopped. */
    private void send(int frame, RankStatus own, String reason) {
        synchronized (connection) {
            try {
                connection.out().writeByte(frame);
                if (own != null) {
                    connection.out().writeLong(own.progress());
                    connection.out().writeUTF(truncated(own.waiting()));
                }
                if (reason != null) {
                    connection.out().writeUTF(truncated(reason));
                }
                connection.out().flush();
            } catch (IOException reported) { // by listen, on its own thread
                return;
            }
        }
    }

    private static String truncated(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT);
    }

    void close() {
        connection.close();
    }

    /** Receives what a peer reports of the job, and the loss of the peer. */
    interface Listener {
        /** The peer has reported that the job failed for {@code reason}. */
        void failed(String reason);

        /** The peer has handed over what it has found itself. */
        void found(int rank, String finding);

        /** The peer has logged the finding of this rank. */
        void confirmed();

        /** The connection to {@code rank} ended without a farewell. */
        void lost(int rank, IOException cause);
    }
}
