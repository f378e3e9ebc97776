package org.isobar.distributed.job;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What each rank tells rank 0 at the rendezvous.
 *
 * @param protocol  version of everything said after the handshake
 * @param rank      the rank that it claims
 * @param worldSize the number of ranks that it expects
 * @param address   where it listens for its peers
 * @param facts     what all ranks must agree on, by name: configuration, version, grid
 */
record RankAnnouncement(int protocol, int rank, int worldSize, InetSocketAddress address,
    SortedMap<String, String> facts) {
    /** The version that this program speaks. */
    static final int PROTOCOL = 1;
    private static final int MOST_FACTS = 10_000;

    /** Writes it. */
    void write(DataOutputStream out) throws IOException {
        out.writeInt(protocol);
        out.writeInt(rank);
        out.writeInt(worldSize);
        writeAddress(out, address);
        out.writeInt(facts.size());
        for (var fact : facts.entrySet()) {
            out.writeUTF(fact.getKey());
            out.writeUTF(fact.getValue());
        }
        out.flush();
    }

    /** Reads one; of another version, only the first three numbers. */
    static RankAnnouncement read(DataInputStream in) throws IOException {
        int protocol = in.readInt();
        int rank = in.readInt();
        int worldSize = in.readInt();
        if (protocol != PROTOCOL) {
            return new RankAnnouncement(protocol, rank, worldSize, new InetSocketAddress(0), new TreeMap<>());
        }
        InetSocketAddress address = readAddress(in);
        int count = in.readInt();
        if (count < 0 || count > MOST_FACTS) {
            throw new IOException(count + " facts");
        }
        SortedMap<String, String> facts = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            facts.put(in.readUTF(), in.readUTF());
        }
        return new RankAnnouncement(protocol, rank, worldSize, address, facts);
    }

    /** Writes an address in digits. */
    static void writeAddress(DataOutputStream out, InetSocketAddress address) throws IOException {
        byte[] digits = address.getAddress().getAddress();
        out.writeByte(digits.length);
        out.write(digits);
        out.writeShort(address.getPort());
    }

    /** Reads what {@link #writeAddress} wrote; nothing is looked up. */
    static InetSocketAddress readAddress(DataInputStream in) throws IOException {
        byte[] digits = new byte[in.readByte() == 4 ? 4 : 16];
        in.readFully(digits);
        return new InetSocketAddress(InetAddress.getByAddress(digits), in.readUnsignedShort());
    }
}
