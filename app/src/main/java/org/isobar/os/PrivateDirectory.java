package org.isobar.os;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;

import org.isobar.fault.UserException;

/**
 * Directories that no other user but root can change. The program loads native code and compiled kernels from such
 * directories only. A directory qualifies if it belongs to this user and if neither it nor a directory above it can be
 * written by others. A directory above may also belong to root, and one with the sticky bit (such as /tmp) may be
 * writable, because others cannot rename what is in it.
 */
public final class PrivateDirectory {
    private static final String OWNER = "rwx------";
    private static final FileAttribute<?> OWNER_ONLY =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(OWNER));
    private static final int ROOT = 0;
    private static final int STICKY = 01000;
    private static final int GROUP_WRITE = 020;
    private static final int OTHER_WRITE = 02;
    private static final int OTHERS_SEARCH = 011;

    private PrivateDirectory() { }

    /**
     * Opens a directory. If it does not exist, it is created with mode 0700, with those above it. If it exists, it gets
     * that mode, because under some umasks others could write the files that this program creates in it.
     *
     * @param remedy how the user names another directory, for the message: "ISOBAR_CACHE", for example
     * @return its path without links
     * @throws UserException if others can change it
     * @throws IOException   if it cannot be created or read
     */
    public static Path open(Path directory, String remedy) throws IOException {
        Path existing = directory.toAbsolutePath();
        while (Files.notExists(existing)) {
            existing = existing.getParent();
        }
        check(existing.toRealPath(), directory, remedy, false); // before anything is created
        Files.createDirectories(directory, OWNER_ONLY);
        Path real = directory.toRealPath();
        check(real, directory, remedy, true);
        closeToOthers(real);
        return real;
    }

    private static void closeToOthers(Path directory) {
        try {
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString(OWNER));
        } catch (IOException fixed) {
            // Files on this file system have the modes of its mount, which the check has seen.
        }
    }

    private static void check(Path real, Path directory, String remedy, boolean own) throws IOException {
        Optional<String> problem = problem(real, HostMachine.user(), own);
        if (problem.isPresent()) {
            throw new UserException("native code and kernels are not loaded from " + directory + ", because "
                + problem.get() + "name a directory that only you can write with " + remedy);
        }
    }

    /**
     * Why others than {@code user} can change a directory, as the start of an advice; empty if they cannot.
     *
     * @param own whether the directory itself must belong to the user, as opposed to root
     */
    static Optional<String> problem(Path real, int user, boolean own) throws IOException {
        boolean closed = false; // others cannot reach this level
        for (int depth = 0; depth <= real.getNameCount(); depth++) {
            Path level = depth == 0 ? real.getRoot() : real.getRoot().resolve(real.subpath(0, depth));
            boolean last = own && depth == real.getNameCount();
            Map<String, Object> facts = Files.readAttributes(level, "unix:uid,gid,mode", LinkOption.NOFOLLOW_LINKS);
            int owner = (int) facts.get("uid");
            if (owner != user && (last || owner != ROOT && !isOfAnotherNamespace(owner))) {
                return Optional.of(level + " belongs to user " + owner + ", and this program runs as user " + user
                    + "; ");
            }
            if (!closed && isWritableByOthers(facts, last)) {
                return Optional.of("other users can write " + level + "; if you trust what is in it, run 'chmod go-w "
                    + level + "', or ");
            }
            closed |= owner == user && ((int) facts.get("mode") & OTHERS_SEARCH) == 0;
        }
        return Optional.empty();
    }

    private static boolean isWritableByOthers(Map<String, Object> facts, boolean last) throws IOException {
        int mode = (int) facts.get("mode");
        boolean writable = (mode & OTHER_WRITE) != 0
            || (mode & GROUP_WRITE) != 0 && !isPrivateGroup((int) facts.get("gid"));
        return writable && (last || (mode & STICKY) == 0);
    }

    /**
     * Whether a group has the name of this user and no other member, as distributions give it to each user. Their
     * default mode of directories lets the group write.
     */
    private static boolean isPrivateGroup(int group) throws IOException {
        Path groups = Path.of("/etc/group"); // name:password:number:members
        String prefix = System.getProperty("user.name") + ":";
        return group == HostMachine.group() && Files.isReadable(groups)
            && Files.readAllLines(groups, StandardCharsets.ISO_8859_1).stream().anyMatch(
                line -> line.startsWith(prefix) && line.endsWith(":" + group + ":"));
    }

    /**
     * Whether a number stands for a user that this user namespace does not know. In a container without privileges,
     * root of the machine is such a user.
     */
    private static boolean isOfAnotherNamespace(int owner) throws IOException {
        return !firstLine("/proc/self/uid_map").matches("0\\s+0\\s+4294967295")
            && firstLine("/proc/sys/kernel/overflowuid").equals(Integer.toString(owner));
    }

    private static String firstLine(String file) throws IOException {
        return Files.readAllLines(Path.of(file)).getFirst().strip();
    }
}
