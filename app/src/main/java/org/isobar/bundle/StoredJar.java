package org.isobar.bundle;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Copies jars without compression. The archive compresses all of them together, which saves a third of its size.
 */
final class StoredJar {
    private StoredJar() { }

    /** Copies a jar. Entries keep their order and times, so equal jars have equal copies. */
    static void copy(Path from, Path to) throws IOException {
        try (ZipFile jar = new ZipFile(from.toFile());
                ZipOutputStream copy = new ZipOutputStream(Files.newOutputStream(to))) {
            copy.setMethod(ZipOutputStream.STORED);
            List<? extends ZipEntry> entries = Collections.list(jar.entries());
            for (ZipEntry entry : entries) {
                copy.putNextEntry(stored(entry));
                try (InputStream content = jar.getInputStream(entry)) {
                    content.transferTo(copy);
                }
                copy.closeEntry();
            }
        }
    }

    private static ZipEntry stored(ZipEntry entry) {
        ZipEntry stored = new ZipEntry(entry.getName());
        stored.setTimeLocal(entry.getTimeLocal());
        stored.setSize(entry.getSize());
        stored.setCrc(entry.getCrc());
        return stored;
    }
}
