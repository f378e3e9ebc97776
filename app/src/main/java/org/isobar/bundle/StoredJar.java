package org.isobar.bundle;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Copies jars without compression. The archive compresses all of them together, which saves a third of its size. Native
 * libraries are taken out of the jars into a directory on the class path, from where JavaCPP loads them directly;
 * libraries in jars it would first unpack in the cache of each user. Libraries that other jars have for other
 * platforms, or that the program does not use, are left out.
 */
final class StoredJar {
    /** The directory of native libraries, relative to the program's jar. */
    static final String NATIVE = "native/";
    private static final Pattern LIBRARY = Pattern.compile("org/bytedeco/.*\\.so(\\.\\d+)*");
    /** Libraries of lz4-java and aircompressor, which load them from their jars. */
    private static final Pattern KEPT_IN_JAR = Pattern.compile("(net/jpountz|aircompressor)/.*\\.(so|dylib|dll)");
    private static final Pattern USED = Pattern.compile("net/jpountz/util/linux/" + System.getProperty("os.arch")
        + "/.*|aircompressor/linux-" + System.getProperty("os.arch") + "/lib(deflate|lz4|snappy|zstd)\\.so");

    private StoredJar() { }

    /** Copies the program's jar and puts the directory of native libraries in front of its class path. */
    static void copyProgram(Path from, Path to) throws IOException {
        copy(from, to, (entry, content) -> {
            if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
                return Optional.of(content);
            }
            Manifest manifest = new Manifest(new ByteArrayInputStream(content));
            manifest.getMainAttributes().merge(Attributes.Name.CLASS_PATH, NATIVE,
                (libraries, first) -> first + " " + libraries);
            ByteArrayOutputStream changed = new ByteArrayOutputStream();
            manifest.write(changed);
            return Optional.of(changed.toByteArray());
        });
    }

    /** Copies a library's jar, except for its native libraries, which are written to {@code directory}. */
    static void copyLibrary(Path from, Path to, Path directory) throws IOException {
        copy(from, to, (entry, content) -> {
            if (!LIBRARY.matcher(entry.getName()).matches()) {
                boolean isUnused = KEPT_IN_JAR.matcher(entry.getName()).matches()
                    && !USED.matcher(entry.getName()).matches();
                return isUnused ? Optional.empty() : Optional.of(content);
            }
            Path library = directory.resolve(entry.getName());
            Files.createDirectories(library.getParent());
            Files.write(library, content, StandardOpenOption.CREATE_NEW);
            return Optional.empty();
        });
    }

    /** What the copy of an entry contains; empty if it is left out. */
    private interface Change {
        Optional<byte[]> apply(ZipEntry entry, byte[] content) throws IOException;
    }

    /** Copies a jar. Entries keep their order and times, so equal jars have equal copies. */
    private static void copy(Path from, Path to, Change change) throws IOException {
        try (ZipFile jar = new ZipFile(from.toFile());
                ZipOutputStream copy = new ZipOutputStream(Files.newOutputStream(to))) {
            copy.setMethod(ZipOutputStream.STORED);
            List<? extends ZipEntry> entries = Collections.list(jar.entries());
            for (ZipEntry entry : entries) {
                Optional<byte[]> content;
                try (InputStream old = jar.getInputStream(entry)) {
                    content = change.apply(entry, old.readAllBytes());
                }
                if (content.isPresent()) {
                    copy.putNextEntry(stored(entry, content.get()));
                    copy.write(content.get());
                    copy.closeEntry();
                }
            }
        }
    }

    private static ZipEntry stored(ZipEntry entry, byte[] content) {
        CRC32 sum = new CRC32();
        sum.update(content);
        ZipEntry stored = new ZipEntry(entry.getName());
        stored.setTimeLocal(entry.getTimeLocal());
        stored.setSize(content.length);
        stored.setCrc(sum.getValue());
        return stored;
    }
}
