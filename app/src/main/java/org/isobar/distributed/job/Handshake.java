package org.isobar.distributed.job;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.SecureRandom;

/**
 * The handshake at the start of every connection, in which both sides prove that they know the job's secret. All fields
 * have a fixed length, so that an unauthenticated peer cannot cause large allocations:
 * <pre>
 *   caller: magic, caller's nonce                              (8 + 32 bytes)
 *   host:   magic, host's nonce, host's proof                  (8 + 32 + 32)
 *   caller: caller's proof                                     (32)
 * </pre>
 */
final class Handshake {
    private static final byte ADMITTED = 1;
    private static final long MAGIC = 0x49534f4241520001L; // "ISOBAR", version 1 of this handshake
    private static final int NONCE = 32;
    private static final int PROOF = 32;

    private Handshake() { }

    /** The caller's side. */
    static void call(DataInputStream in, DataOutputStream out, JobSecret secret) throws IOException {
        byte[] own = nonce();
        out.writeLong(MAGIC);
        out.write(own);
        out.flush();
        expectMagic(in);
        byte[] peer = new byte[NONCE];
        in.readFully(peer);
        expectProof(in, secret.proof("host", peer, own));
        out.write(secret.proof("caller", own, peer));
        out.flush();
    }

    /** The host's side. */
    static void answer(DataInputStream in, DataOutputStream out, JobSecret secret) throws IOException {
        expectMagic(in);
        byte[] peer = new byte[NONCE];
        in.readFully(peer);
        byte[] own = nonce();
        out.writeLong(MAGIC);
        out.write(own);
        out.write(secret.proof("host", own, peer));
        out.flush();
        expectProof(in, secret.proof("caller", peer, own));
    }

    /** Confirms to a caller that it is authenticated. Until then, its connection may be evicted. */
    static void admit(DataOutputStream out) throws IOException {
        out.writeByte(ADMITTED);
        out.flush();
    }

    /** Waits for the confirmation of {@link #admit}. */
    static void awaitAdmission(DataInputStream in) throws IOException {
        if (in.readByte() != ADMITTED) {
            throw new RefusedException("it does not speak the protocol of Isobar");
        }
    }

    private static byte[] nonce() {
        byte[] nonce = new byte[NONCE];
        new SecureRandom().nextBytes(nonce);
        return nonce;
    }

    private static void expectMagic(DataInputStream in) throws IOException {
        if (in.readLong() != MAGIC) {
            throw new RefusedException("it does not speak the protocol of Isobar");
        }
    }

    private static void expectProof(DataInputStream in, byte[] expected) throws IOException {
        byte[] proof = new byte[PROOF];
        in.readFully(proof);
        if (!MessageDigest.isEqual(proof, expected)) {
            throw new RefusedException("it does not know the secret of this job; is another job using this port?");
        }
    }

    /** The other side does not belong to this job. */
    static final class RefusedException extends IOException {
        private static final long serialVersionUID = 1L;

        RefusedException(String message) {
            super(message);
        }
    }
}
