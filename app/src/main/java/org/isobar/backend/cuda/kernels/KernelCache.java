package org.isobar.backend.cuda.kernels;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;

import org.isobar.os.AtomicFile;
import org.isobar.os.CacheDirectory;
import org.isobar.os.PrivateDirectory;

/**
 * A disk cache of compiled kernels, shared by all processes of a user. The name of an entry is a hash of its inputs, so
 * entries never change. The directory is private to this user, because kernels are code that the GPU runs. Each entry
 * starts with a hash of its content, so a damaged one counts as missing. If the directory cannot be used, the cache
 * warns once, and kernels are compiled at each start.
 */
public final class KernelCache {
    private static final int HASH_BYTES = 32;
    private static final String VARIABLE = "ISOBAR_KERNEL_CACHE";

    private final Path directory; // null if there is none
    private final Consumer<String> warnings;
    private final AtomicBoolean usable = new AtomicBoolean(true);

    KernelCache(Path directory, Consumer<String> warnings) {
        this.directory = directory;
        this.warnings = warnings;
    }

    /**
     * Opens the cache in the directory ISOBAR_KERNEL_CACHE, else in {@code kernels} of the {@link CacheDirectory}.
     * Without either, no kernel is kept.
     *
     * @param warnings receives at most one warning: that the directory cannot be used
     * @throws org.isobar.fault.UserException if other users can change the directory
     */
    public static KernelCache open(Map<String, String> environment, Consumer<String> warnings) {
        String own = environment.getOrDefault(VARIABLE, "");
        if (own.isBlank()) {
            Optional<Path> directory = CacheDirectory.open(environment, "kernels");
            KernelCache cache = new KernelCache(directory.orElse(null), warnings);
            if (directory.isEmpty()) {
                cache.usable.set(false);
                warnings.accept("no directory for compiled kernels can be written: kernels are compiled at each start; "
                    + VARIABLE + " names one");
            }
            return cache;
        }
        try {
            return new KernelCache(PrivateDirectory.open(Path.of(own), VARIABLE), warnings);
        } catch (IOException failure) {
            KernelCache cache = new KernelCache(Path.of(own), warnings);
            cache.unusable("created", failure);
            return cache;
        }
    }

    /** The directory; empty if it cannot be used. */
    public Optional<Path> directory() {
        return usable.get() ? Optional.of(directory) : Optional.empty();
    }

    /** Hash of a source and its compiler options. It does not depend on the compiler. */
    public static String key(KernelSource source, List<String> options) {
        MessageDigest digest = sha256();
        Stream.concat(Stream.of(source.file(), source.text()), Stream.concat(
            source.headers().entrySet().stream().flatMap(header -> Stream.of(header.getKey(), header.getValue())),
            options.stream())).forEach(part -> {
                byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
                digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).flip());
                digest.update(bytes);
            });
        return HexFormat.of().formatHex(digest.digest(), 0, HASH_BYTES / 2);
    }

    /**
     * Reads a compiled kernel.
     *
     * @param compiler {@link KernelCompiler#identity}; without a compiler, an entry of any compiler is read
     */
    public Optional<byte[]> read(String key, Optional<String> compiler) {
        if (!usable.get()) {
            return Optional.empty();
        }
        try {
            if (compiler.isPresent()) {
                return content(entry(key, compiler.get()));
            }
            try (Stream<Path> entries = Files.list(directory)) {
                return entries.filter(entry -> entry.getFileName().toString().matches(key + "-\\w+\\.cubin"))
                    .sorted().map(this::content).flatMap(Optional::stream).findFirst();
            }
        } catch (NoSuchFileException none) {
            return Optional.empty();
        } catch (IOException failure) {
            return unusable("read", failure);
        }
    }

    /** Writes a compiled kernel. */
    public void write(String key, String compiler, byte[] image) {
        if (!usable.get()) {
            return;
        }
        try {
            Files.createDirectories(directory);
            AtomicFile.replace(entry(key, compiler), channel -> {
                AtomicFile.writeFully(channel, ByteBuffer.wrap(sha256().digest(image)));
                AtomicFile.writeFully(channel, ByteBuffer.wrap(image));
            });
        } catch (IOException failure) {
            unusable("written", failure);
        }
    }

    private Optional<byte[]> content(Path entry) {
        try {
            byte[] all = Files.readAllBytes(entry);
            byte[] image = Arrays.copyOfRange(all, Math.min(HASH_BYTES, all.length), all.length);
            byte[] hash = Arrays.copyOf(all, HASH_BYTES);
            return Arrays.equals(hash, sha256().digest(image)) ? Optional.of(image) : Optional.empty();
        } catch (NoSuchFileException none) {
            return Optional.empty();
        } catch (IOException failure) {
            return unusable("read", failure);
        }
    }

    private Path entry(String key, String compiler) {
        return directory.resolve(key + "-" + compiler + ".cubin");
    }

    private Optional<byte[]> unusable(String what, IOException failure) {
        if (usable.getAndSet(false)) {
            warnings.accept("kernel cache " + directory + " cannot be " + what + " (" + failure + "): kernels are "
                + "compiled at each start; " + VARIABLE + " names another directory");
        }
        return Optional.empty();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) { // every Java runtime has it
            throw new AssertionError(impossible);
        }
    }
}
