package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A directory is refused if another user can change it, or one above it. */
class PrivateDirectoryTest {
    @TempDir
    private Path temporary;
    private Path above;
    private Path leaf;

    @BeforeEach
    void setUp() throws IOException {
        mode(temporary, "rwxr-xr-x"); // JUnit's directory is closed to others
        above = temporary.toRealPath().resolve("above");
        leaf = above.resolve("leaf");
    }

    private static void mode(Path directory, String mode) throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(mode));
    }

    private String refusal() {
        return assertThrows(UserException.class, () -> PrivateDirectory.open(leaf, "ISOBAR_CACHE")).getMessage();
    }

    @Test
    void createsDirectoriesForTheUserAlone() throws IOException {
        assertEquals(leaf, PrivateDirectory.open(leaf, "ISOBAR_CACHE"));
        for (Path created : new Path[] {above, leaf}) {
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(created)));
        }
        assertEquals(leaf, PrivateDirectory.open(leaf, "ISOBAR_CACHE"), "again");
    }

    /** Files that the program creates in it under umask 000 would be writable by others. */
    @Test
    void anExistingDirectoryIsClosedToOthers() throws IOException {
        Files.createDirectories(leaf);
        mode(leaf, "rwxr-xr-x");
        PrivateDirectory.open(leaf, "ISOBAR_CACHE");
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(leaf)));
    }

    @ParameterizedTest
    @CsvSource({
        "rwxr-xr-x, rwxr-xr-x, ''", "rwxr-xr-x, rwxrwxrwx, leaf", "rwxr-xr-x, rwx----w-, leaf",
        "rwxrwxrwx, rwx------, above", "rwx----wx, rwx------, above",
        "rwx------, rwxrwxrwx, ''", // others cannot reach the leaf
        "rwx--x---, rwx----w-, leaf"})
    void modesDecide(String modeAbove, String modeOfLeaf, String writable) throws IOException {
        PrivateDirectory.open(leaf, "ISOBAR_CACHE");
        mode(leaf, modeOfLeaf);
        mode(above, modeAbove);
        if (writable.isEmpty()) {
            assertEquals(leaf, PrivateDirectory.open(leaf, "ISOBAR_CACHE"));
        } else {
            Path level = writable.equals("leaf") ? leaf : above;
            assertEquals("native code and kernels are not loaded from " + leaf + ", because other users can write "
                + level + "; if you trust what is in it, run 'chmod go-w " + level + "', or name a directory that only "
                + "you can write with ISOBAR_CACHE", refusal());
        }
    }

    /** As in /tmp: others can create files there, but not rename those of this user. */
    @Test
    void theStickyBitProtectsWhatIsBelow() throws IOException {
        PrivateDirectory.open(leaf, "ISOBAR_CACHE");
        Files.setAttribute(above, "unix:mode", 01777);
        assertEquals(leaf, PrivateDirectory.open(leaf, "ISOBAR_CACHE"));
        Files.setAttribute(leaf, "unix:mode", 01777);
        assertTrue(refusal().contains("other users can write " + leaf));
    }

    @Test
    void anotherUsersDirectoryIsRefused() throws IOException {
        PrivateDirectory.open(leaf, "ISOBAR_CACHE");
        int user = HostMachine.user();
        assertEquals(Optional.empty(), PrivateDirectory.problem(leaf, user, true));
        Path first = user == 0 ? leaf : temporary.toRealPath(); // root's directories above are trusted
        assertEquals(Optional.of(first + " belongs to user " + user + ", and this program runs as user " + (user + 1)
            + "; "), PrivateDirectory.problem(leaf, user + 1, true));
    }

    @Test
    void nothingIsCreatedWhereOthersCanWrite() throws IOException {
        Files.createDirectory(above);
        mode(above, "rwxrwxrwx");
        assertTrue(refusal().contains("other users can write " + above));
        assertTrue(Files.notExists(leaf));
    }

    @Test
    void linksAreResolved() throws IOException {
        Path link = Files.createSymbolicLink(temporary.resolve("link"), Files.createDirectories(above));
        assertEquals(leaf, PrivateDirectory.open(link.resolve("leaf"), "ISOBAR_CACHE"));
    }

    @Test
    void aFileIsNoDirectory() throws IOException {
        Files.createFile(above);
        assertThrows(IOException.class, () -> PrivateDirectory.open(leaf, "ISOBAR_CACHE"));
        assertThrows(FileAlreadyExistsException.class, () -> PrivateDirectory.open(above, "ISOBAR_CACHE"));
    }
}
