package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.os.AtomicFile;

/** Names of the files in a directory of checkpoints, and operations on them. Symbolic links are never followed. */
final class CheckpointFiles {
    private static final Pattern CHECKPOINT = Pattern.compile("checkpoint-(0|[1-9]\\d{0,17})");
    private static final Pattern TEMPORARY = Pattern.compile("\\.checkpoint-\\d+\\.tmp");
    private static final Pattern REPLACED = Pattern.compile("\\.(checkpoint-\\d+)\\.replaced\\.tmp");
    private static final Pattern SHARD = Pattern.compile("rank-\\d{5,9}\\.safetensors");
    private static final int ATTEMPTS = 3;

    private CheckpointFiles() { }

    static String checkpoint(long iteration) {
        return "checkpoint-" + iteration;
    }

    /** Name of a checkpoint while it is written or deleted. */
    static String temporary(long iteration) {
        return "." + checkpoint(iteration) + ".tmp";
    }

    /** Name of an old checkpoint while a new one of the same iteration replaces it. */
    static String replaced(long iteration) {
        return "." + checkpoint(iteration) + ".replaced.tmp";
    }

    static String shard(int rank) {
        return String.format(Locale.ROOT, "rank-%05d.safetensors", rank); // digits that isShard knows
    }

    static boolean isShard(String name) {
        return SHARD.matcher(name).matches();
    }

    /** The iteration in a checkpoint's name; empty if it is not the name of a checkpoint. */
    static OptionalLong iteration(Path path) {
        Matcher matcher = CHECKPOINT.matcher(path.getFileName().toString());
        return matcher.matches() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }

    /** Directories, or links to directories, that are named like checkpoints; newest first. */
    static List<Path> checkpoints(Path directory) throws IOException {
        List<Path> found = new ArrayList<>(entries(directory).stream()
            .filter(path -> iteration(path).isPresent() && Files.isDirectory(path)).toList());
        found.sort((one, other) -> Long.compare(iteration(other).orElseThrow(), iteration(one).orElseThrow()));
        return found;
    }

    /** Whether a path is a directory, not a link, that holds only files of a checkpoint. */
    static boolean holdsOnlyACheckpoint(Path path) throws IOException {
        return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS) && entries(path).stream()
            .map(entry -> entry.getFileName().toString())
            .allMatch(name -> isShard(name) || name.equals(CheckpointManifest.FILE));
    }

    /** Restores the old checkpoint where a writer was killed between the two renames of a replacement. */
    static void restoreReplaced(Path directory) throws IOException {
        for (Path path : entries(directory)) {
            Matcher matcher = REPLACED.matcher(path.getFileName().toString());
            if (matcher.matches()) {
                restore(path, path.resolveSibling(matcher.group(1)));
            }
        }
    }

    /** Renames a replaced checkpoint back to {@code path}, or deletes it if the new one exists there. */
    static void restore(Path replaced, Path path) throws IOException {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            delete(replaced);
        } else {
            Files.move(replaced, path, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    /**
     * Deletes the files of writes and deletions that were killed. Old checkpoints without a replacement are restored.
     */
    static void deleteTemporaries(Path directory) throws IOException {
        restoreReplaced(directory);
        for (Path path : entries(directory)) {
            if (TEMPORARY.matcher(path.getFileName().toString()).matches()) {
                delete(path);
            }
        }
    }

    /** Deletes a file, a link, or a directory with its contents. Does nothing if it does not exist. */
    static void delete(Path path) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                Files.walkFileTree(path, new DeletingVisitor());
                return;
            } catch (DirectoryNotEmptyException e) {
                if (attempt == ATTEMPTS) { // a late writer keeps creating files in it
                    throw e;
                }
            }
        }
    }

    /**
     * Writes a file and forces it to disk. Deletes what has its name, so that links are not followed. Does not create
     * its directory, which another run may have removed.
     */
    static void write(Path path, AtomicFile.Content content) throws IOException {
        Files.deleteIfExists(path);
        AtomicFile.create(path, content);
    }

    /** Writes a file that other ranks read: it appears complete, by a rename. */
    static void writeAtomically(Path path, byte[] bytes) throws IOException {
        AtomicFile.replace(path, channel -> AtomicFile.writeFully(channel, ByteBuffer.wrap(bytes)));
    }

    /** The entries of a directory, in no particular order. */
    static List<Path> entries(Path directory) throws IOException {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            stream.forEach(entries::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return entries;
    }

    /** Deletes all visited files and directories. */
    private static final class DeletingVisitor extends SimpleFileVisitor<Path> {
        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
            if (failure instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
            }
            throw failure;
        }

        @Override
        public FileVisitResult postVisitDirectory(Path directory, IOException failure) throws IOException {
            if (failure != null) {
                throw failure;
            }
            Files.deleteIfExists(directory);
            return FileVisitResult.CONTINUE;
        }
    }
}
