package org.isobar.os;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files that lie on the disk and not in memory. */
public final class Uncached {
    private Uncached() { }

    /**
     * Has the kernel forget what it holds of a file that nobody has mapped. Aborts the test where that, or counting
     * what disks read, is not possible: in a file system without a disk, say.
     */
    public static void forget(Path path) throws IOException, InterruptedException {
        drop(path);
        PageCache pages = new PageCache();
        long before = pages.blocksRead();
        try (InputStream file = Files.newInputStream(path)) {
            file.readNBytes(1);
        }
        assumeTrue(pages.blocksRead() > before, "what disks read is not seen here");
        drop(path); // again, for more was read than one byte
    }

    /** As the manual of dd(1) says, after writing what is dirty. */
    private static void drop(Path path) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("dd", "of=" + path, "oflag=nocache", "conv=notrunc,fdatasync", "count=0")
            .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        assumeTrue(process.waitFor() == 0, "dd fails");
    }
}
