package org.isobar.distributed.job;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** The facts on which all ranks of a job must agree, by name: configuration, program version, grid. */
final class JobFacts {
    /** Size of a {@link #digest} in bytes. */
    static final int DIGEST = 32;
    private static final int MAX_FACTS = 10_000;
    private static final int MAX_BYTES = 1 << 24;

    private final SortedMap<String, String> values;
    private final byte[] encoded;
    private final byte[] digest;

    /** The given facts. */
    JobFacts(Map<String, String> values) {
        this.values = new TreeMap<>(values);
        encoded = encode(this.values);
        digest = sha256(encoded);
    }

    private static byte[] encode(SortedMap<String, String> values) {
        return Encoding.bytes(out -> {
            out.writeInt(values.size());
            for (var fact : values.entrySet()) {
                write(out, fact.getKey());
                write(out, fact.getValue());
            }
        });
    }

    private static void write(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static String text(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new IOException("a fact of " + length + " bytes");
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException impossible) { // every Java platform has SHA-256
            throw new AssertionError(impossible);
        }
    }

    /** The values by name. */
    SortedMap<String, String> values() {
        return values;
    }

    /** SHA-256 of all names and values. */
    byte[] digest() {
        return digest.clone();
    }

    /** Writes all names and values. */
    void write(DataOutputStream out) throws IOException {
        out.writeInt(encoded.length);
        out.write(encoded);
        out.flush();
    }

    /** Reads facts that {@link #write} wrote. */
    static JobFacts read(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > MAX_BYTES) {
            throw new IOException("facts of " + length + " bytes");
        }
        byte[] bytes = in.readNBytes(length);
        DataInputStream facts = new DataInputStream(new ByteArrayInputStream(bytes));
        int count = facts.readInt();
        if (count < 0 || count > MAX_FACTS) {
            throw new IOException("announcement with " + count + " facts");
        }
        SortedMap<String, String> values = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            values.put(text(facts), text(facts));
        }
        return new JobFacts(values);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof JobFacts facts && Arrays.equals(digest, facts.digest);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(digest);
    }

    @Override
    public String toString() {
        return values.size() + " facts " + HexFormat.of().formatHex(digest);
    }
}
