package org.isobar.backend.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/** The links of one rank to others of its group: {@link GroupConnections}; in tests also queues in memory. */
interface GroupLinks {
    /** Sends to the next rank of the ring. */
    Writer next();

    /** Receives from the previous rank of the ring. */
    Reader previous();

    /** The link to the rank with index {@code peer} for {@link HalvingAllReduce}. Opened on first use. */
    Link partner(int peer) throws IOException;

    /** Both directions of a link to one rank. */
    interface Link {
        /** Sends to the rank. */
        Writer out();

        /** Receives from the rank. */
        Reader in();
    }

    /** Sends to one rank, asynchronously and in order. */
    interface Writer {
        /**
         * Queues the bytes for sending. They must not change until they are sent.
         *
         * @return a number for {@link #awaitSent}
         */
        long send(MemorySegment bytes) throws IOException;

        /** Queues the remaining bytes of the buffer; runs {@code then}, unless it is null, when they are sent. */
        long send(ByteBuffer bytes, Runnable then) throws IOException;

        /** Waits until the data that {@link #send} gave this number, and all before it, is sent. */
        void awaitSent(long number) throws IOException, InterruptedException;

        /** Waits until all queued data is sent. */
        void flush() throws IOException, InterruptedException;
    }

    /** Receives from one rank, blocking. */
    interface Reader {
        /** Fills the memory, which has at most 2 GiB. */
        default void read(MemorySegment bytes) throws IOException {
            read(bytes.asByteBuffer());
        }

        /** Fills the buffer. */
        void read(ByteBuffer bytes) throws IOException;
    }
}
