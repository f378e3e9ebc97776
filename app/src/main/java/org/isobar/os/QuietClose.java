package org.isobar.os;

import java.io.Closeable;
import java.io.IOException;

/** Closes what is no longer used. */
public final class QuietClose {
    private QuietClose() { }

    /** Closes the resource and ignores a failure to do so. */
    public static void close(Closeable resource) {
        try {
            resource.close();
        } catch (IOException ignored) {
            return;
        }
    }
}
