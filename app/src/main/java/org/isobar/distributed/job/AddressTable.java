package org.isobar.distributed.job;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** The addresses at which the ranks of a job listen, by rank, as they are passed down the {@link JobTree}. */
final class AddressTable {
    private static final int MAX_ENTRY = 19; // bytes of an IPv6 address with its length and port

    private AddressTable() { }

    /** Writes the number of addresses, and the addresses. */
    static void write(DataOutputStream out, List<InetSocketAddress> addresses) throws IOException {
        out.writeInt(addresses.size());
        int bytes = 0;
        for (InetSocketAddress address : addresses) {
            bytes += 3 + address.getAddress().getAddress().length;
        }
        out.writeInt(bytes);
        for (InetSocketAddress address : addresses) {
            RankAnnouncement.writeAddress(out, address);
        }
    }

    /** Reads addresses, all at once because the stream is not buffered. */
    static List<InetSocketAddress> read(DataInputStream in) throws IOException {
        int count = in.readInt();
        int length = in.readInt();
        if (count < 0 || length < 0 || length > (long) count * MAX_ENTRY) {
            throw new IOException(count + " addresses in " + length + " bytes");
        }
        DataInputStream table = new DataInputStream(new ByteArrayInputStream(in.readNBytes(length)));
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            addresses.add(RankAnnouncement.readAddress(table));
        }
        return addresses;
    }
}
