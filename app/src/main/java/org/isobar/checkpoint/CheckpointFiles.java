package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
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
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.os.AtomicFile;

/** Names in a directory of checkpoints, and what is done to its entries. Links are never followed. */
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

    /** What a checkpoint is called while it is written, and while it is deleted. */
    static String temporary(long iteration) {
        return "." + checkpoint(iteration) + ".tmp";
    }

    /** What a checkpoint is called while another takes its name. */
    static String replaced(long iteration) {
        return "." + checkpoint(iteration) + ".replaced.tmp";
    }

    static String shard(int rank) {
        return "rank-%05d.safetensors".formatted(rank);
    }

    /** What a rank leaves for rank 0 while a checkpoint is written. */
    static String sidecar(int rank) {
        return "rank-%05d.json".formatted(rank);
    }

    static boolean isShard(String name) {
        return SHARD.matcher(name).matches();
    }

    /** The iteration in a checkpoint's name; none if the name is no checkpoint's. */
    static OptionalLong iteration(Path path) {
        Matcher matcher = CHECKPOINT.matcher(path.getFileName().toString());
        return matcher.matches() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }

    /** Directories, or links to some, that are named like checkpoints; the latest iteration first. */
    static List<Path> checkpoints(Path directory) throws IOException {
        List<Path> found = new ArrayList<>(entries(directory).stream()
            .filter(path -> iteration(path).isPresent() && Files.isDirectory(path)).toList());
        found.sort((one, other) -> Long.compare(iteration(other).orElseThrow(), iteration(one).orElseThrow()));
        return found;
    }

    /** Whether a directory, no link, holds nothing but what a checkpoint consists of. */
    static boolean holdsACheckpointAlone(Path path) throws IOException {
        return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS) && entries(path).stream()
            .map(entry -> entry.getFileName().toString())
            .allMatch(name -> isShard(name) || name.equals(CheckpointManifest.FILE));
    }

    /** Puts each checkpoint back whose writer was killed between taking its name away and giving it to another. */
    static void restoreReplaced(Path directory) throws IOException {
        for (Path path : entries(directory)) {
            Matcher matcher = REPLACED.matcher(path.getFileName().toString());
            if (matcher.matches()) {
                putBack(path, path.resolveSibling(matcher.group(1)));
            }
        }
    }

    /** Gives a replaced checkpoint its name again, or deletes it if another has that by now. */
    static void putBack(Path replaced, Path path) throws IOException {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            delete(replaced);
        } else {
            Files.move(replaced, path, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    /** Deletes what earlier writers and deleters that were killed have left, but for the only one of an iteration. */
    static void deleteTemporaries(Path directory) throws IOException {
        restoreReplaced(directory);
        for (Path path : entries(directory)) {
            if (TEMPORARY.matcher(path.getFileName().toString()).matches()) {
                delete(path);
            }
        }
    }

    /** Deletes a file, a link or a directory with all that is in it. What is gone already is no failure. */
    static void delete(Path path) throws IOException {
        for (int attempt = 1; ; attempt++) {
            try {
                Files.walkFileTree(path, new Deleting());
                return;
            } catch (DirectoryNotEmptyException e) {
                if (attempt == ATTEMPTS) { // a writer that is late puts files into it meanwhile
                    throw e;
                }
            }
        }
    }

    /** Writes a file and forces it to the disk. Its directory must be there: one that was removed stays so. */
    static void write(Path path, AtomicFile.Content content) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            content.writeTo(channel);
            channel.force(true);
        }
    }

    /** Writes a file that others wait for: it appears whole. */
    static void writeWhole(Path path, byte[] bytes) throws IOException {
        Path temporary = AtomicFile.temporary(path);
        write(temporary, channel -> AtomicFile.writeFully(channel, ByteBuffer.wrap(bytes)));
        Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
    }

    /** What is in a directory, in no order. */
    static List<Path> entries(Path directory) throws IOException {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
            stream.forEach(entries::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return entries;
    }

    /** Deletes what it visits. */
    private static final class Deleting extends SimpleFileVisitor<Path> {
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
