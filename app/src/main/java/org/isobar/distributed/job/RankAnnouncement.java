package org.isobar.distributed.job;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The message in which a rank announces itself to rank 0 at the rendezvous.
 *
 * @param protocol  version of the protocol after the handshake
 * @param rank      the rank of the sender
 * @param worldSize the number of ranks that the sender expects
 * @param address   the address at which the sender listens for its peers; the wildcard address if it listens at all
 *                  addresses of the machine of rank 0
 * @param digest    digest of the {@link JobFacts} of the sender, which sends them only if rank 0 has others
 */
record RankAnnouncement(int protocol, int rank, int worldSize, InetSocketAddress address, byte[] digest) {
    /** The protocol version of this program. */
    static final int PROTOCOL = 3;

    /** Writes the announcement. */
    void write(DataOutputStream out) throws IOException {
        out.writeInt(protocol);
        out.writeInt(rank);
        out.writeInt(worldSize);
        writeAddress(out, address);
        out.write(digest);
        out.flush();
    }

    /** Reads an announcement. If its version differs, only the first three fields are read. */
    static RankAnnouncement read(DataInputStream in) throws IOException {
        int protocol = in.readInt();
        int rank = in.readInt();
        int worldSize = in.readInt();
        if (protocol != PROTOCOL) {
            return new RankAnnouncement(protocol, rank, worldSize, new InetSocketAddress(0),
                new byte[JobFacts.DIGEST]);
        }
        InetSocketAddress address = readAddress(in);
        byte[] digest = new byte[JobFacts.DIGEST];
        in.readFully(digest);
        return new RankAnnouncement(protocol, rank, worldSize, address, digest);
    }

    /** Writes a numeric address and port. */
    static void writeAddress(DataOutputStream out, InetSocketAddress address) throws IOException {
        byte[] bytes = address.getAddress().getAddress();
        out.writeByte(bytes.length);
        out.write(bytes);
        out.writeShort(address.getPort());
    }

    /** Reads an address that {@link #writeAddress} wrote, without a name lookup. */
    static InetSocketAddress readAddress(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readByte() == 4 ? 4 : 16];
        in.readFully(bytes);
        return new InetSocketAddress(InetAddress.getByAddress(bytes), in.readUnsignedShort());
    }
}
