package org.isobar.distributed.job;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The addresses at which the ranks of a job listen, by rank, as they are passed down the {@link JobTree}. They are kept
 * encoded, in 7 bytes for each rank with IPv4.
 */
final class AddressTable {
    private static final int MAX_ENTRY = 19; // bytes of an IPv6 address with its length and port
    private static final int BESIDES = 3; // bytes of an entry besides the address

    private final int count;
    private final byte[] entries;

    private AddressTable(int count, byte[] entries) {
        this.count = count;
        this.entries = entries;
    }

    /** The given addresses, by rank. */
    static AddressTable of(List<InetSocketAddress> addresses) {
        return new AddressTable(addresses.size(), Encoding.bytes(out -> {
            for (InetSocketAddress address : addresses) {
                RankAnnouncement.writeAddress(out, address);
            }
        }));
    }

    /** Writes the number of addresses, and the addresses. */
    void write(DataOutputStream out) throws IOException {
        out.writeInt(count);
        out.writeInt(entries.length);
        out.write(entries);
    }

    /**
     * Reads addresses, all at once because the stream is not buffered.
     *
     * @param kept the bytes to keep instead of those that were read, which are equal
     */
    static AddressTable read(DataInputStream in, UnaryOperator<byte[]> kept) throws IOException {
        int count = in.readInt();
        int length = in.readInt();
        if (count < 0 || length < 0 || length > (long) count * MAX_ENTRY) {
            throw new IOException(count + " addresses in " + length + " bytes");
        }
        byte[] entries = new byte[length];
        in.readFully(entries);
        return new AddressTable(count, kept.apply(entries));
    }

    /** The address of a rank. */
    InetSocketAddress get(int rank) {
        if (rank < 0 || rank >= count) {
            throw new IndexOutOfBoundsException("rank " + rank + " of " + count);
        }
        int at = 0;
        for (int before = 0; before < rank; before++) {
            at += BESIDES + entries[at];
        }
        try {
            return RankAnnouncement.readAddress(new DataInputStream(
                new ByteArrayInputStream(entries, at, entries.length - at)));
        } catch (IOException malformed) {
            throw new UncheckedIOException(malformed);
        }
    }
}
