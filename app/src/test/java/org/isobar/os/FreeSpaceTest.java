package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The free space of file systems that report it, and of one that does not. */
class FreeSpaceTest {
    @Test
    void isWhatTheFileSystemReports(@TempDir Path directory) throws Exception {
        long free = FreeSpace.of(directory);
        assertTrue(free > 0 && free <= Files.getFileStore(directory).getTotalSpace(), () -> free + " bytes");
    }

    /** The kernel's /proc reports sizes of 0 (statvfs(3)). */
    @Test
    void isUnlimitedIfTheFileSystemReportsNoSize() {
        assertEquals(Long.MAX_VALUE, FreeSpace.of(Path.of("/proc/self")));
    }
}
