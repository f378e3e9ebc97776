package org.isobar.data.convert;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

import org.isobar.data.source.ArrayStore;
import org.isobar.os.FileFault;

/** Identifies what a year's file is made of, and how: by sizes and times of the sources' files, which are not read. */
final class SourceFingerprint {
    private final String sources;

    /**
     * Examines the files of the arrays of some channels.
     *
     * @throws org.isobar.fault.UserException if one cannot be examined
     */
    SourceFingerprint(List<ChannelSource> channels) {
        StringBuilder text = new StringBuilder();
        channels.stream().flatMap(channel -> channel.segments().stream()).map(ChannelSource.Segment::array).distinct()
            .forEach(array -> text.append(describe(array)));
        sources = text.toString();
    }

    /**
     * The fingerprint of a file that is made of these sources.
     *
     * @param how all that determines the file, apart from the sources
     */
    String with(List<?> how) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(sources.getBytes(StandardCharsets.UTF_8));
            how.forEach(part -> digest.update(('\n' + part.toString()).getBytes(StandardCharsets.UTF_8)));
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible); // every Java platform has SHA-256
        }
    }

    private static String describe(GriddedArray array) {
        ArrayStore store = array.store();
        try {
            FileSum sum = new FileSum();
            if (Files.isDirectory(store.path())) {
                Files.walkFileTree(store.path(), Set.of(), 1, sum); // metadata
                Files.walkFileTree(store.path().resolve(array.name()), sum);
            } else {
                Files.walkFileTree(store.path().toRealPath(), sum);
            }
            return store.path().toRealPath() + " " + array.name() + " " + sum + '\n';
        } catch (IOException failure) {
            throw FileFault.unreadable(store.title(), failure);
        }
    }

    /** Number, bytes and times of files, in no order. */
    private static final class FileSum extends SimpleFileVisitor<Path> {
        private long files;
        private long bytes;
        private long times;

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (attributes.isDirectory()) { // deeper than what is visited
                return FileVisitResult.CONTINUE;
            }
            files++;
            bytes += attributes.size();
            times += attributes.lastModifiedTime().toInstant().getEpochSecond() * 1_000_000_007
                + attributes.lastModifiedTime().toInstant().getNano();
            return FileVisitResult.CONTINUE;
        }

        @Override
        public String toString() {
            return files + " files, " + bytes + " bytes, times " + times;
        }
    }
}
