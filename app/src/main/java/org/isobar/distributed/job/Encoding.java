package org.isobar.distributed.job;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Writes a message, or a part of one. */
@FunctionalInterface
interface Encoding {
    /** Writes it to {@code out}. */
    void write(DataOutputStream out) throws IOException;

    /** The bytes that {@code content} writes. */
    static byte[] bytes(Encoding content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            content.write(out);
        } catch (IOException impossible) { // the bytes stay in memory
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }
}
