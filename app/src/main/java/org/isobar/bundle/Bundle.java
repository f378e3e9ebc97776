package org.isobar.bundle;

import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalDateTime;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * The program as one archive with one directory in it, which runs where it is unpacked:
 *
 * <pre>
 * isobar-VERSION-PLATFORM/
 *   isobar  submit_pm*.sh  export_DDP_vars.sh  app/jvm.options  config/  bench/  docs/    as in the source tree
 *   isobar.jar  lib/    the program and its libraries
 *   runtime/            the Java that runs it
 * </pre>
 *
 * @param home the source tree: the directory of the launcher
 * @param jar  the program, whose manifest names its version and its libraries, relative to itself
 * @param name name of the directory in the archive
 */
public record Bundle(Path home, Path jar, String name) {
    /** What the archive takes from the source tree as it is: directories, and which files of each. */
    private static final Map<String, String> FILES = Map.of(
        "", "{isobar,submit_pm*.sh,export_DDP_vars.sh,README.md,LICENSE}",
        "config", "*.yaml",
        "bench", "*.{sh,py}",
        "app", "jvm.options",
        "docs", "*.md",
        "docs/decisions", "*.md",
        "docs/benchmarks", "*.md",
        "docs/images", "*.{png,svg}",
        "example_logs/demo", "prediction.png"); // of the README
    private static final String OPTION = "--output";

    /**
     * The bundle of a source tree.
     *
     * @param home directory of the launcher
     * @param jar  the program as it is started
     * @throws UserException if the program was not packaged, or runs in a bundle
     */
    public static Bundle of(Path home, Path jar) {
        JavaRuntime.jlink();
        if (!Files.isRegularFile(jar)) {
            throw new UserException("a bundle is made of the built program, and this one runs from " + jar
                + "; start it by ./isobar, which builds it");
        }
        return new Bundle(home, jar, "isobar-" + attribute(jar, Attributes.Name.IMPLEMENTATION_VERSION) + "-linux-"
            + architecture());
    }

    /** As JavaCPP names it, whose native libraries are in the bundle. */
    private static String architecture() {
        String architecture = System.getProperty("os.arch");
        return switch (architecture) {
            case "amd64" -> "x86_64";
            case "aarch64" -> "arm64";
            default -> architecture;
        };
    }

    /** Name of the archive, unless it is given another. */
    public String fileName() {
        return name + ".tar.xz";
    }

    /**
     * Writes the archive, in the place of one that is there. What goes into it, some 300 MB, is first put together
     * beside it, in a directory isobar-bundle.tmp*; only a killed program leaves that behind.
     *
     * @throws UserException if the disk does not take it, or this machine lacks a tool
     */
    public void write(Path output) {
        Path parent = output.toAbsolutePath().getParent();
        Path workshop;
        try {
            Files.createDirectories(parent);
            workshop = Files.createTempDirectory(parent, "isobar-bundle.tmp");
        } catch (IOException failure) {
            throw FileFault.unwritable("bundle " + output, OPTION, failure);
        }
        try {
            Path directory = workshop.resolve(name);
            assemble(directory);
            LocalDateTime time = builtAt();
            new AtomicFile("bundle", output, OPTION).write(channel ->
                Archive.write(directory, Channels.newOutputStream(channel), time));
        } catch (IOException failure) {
            throw FileFault.unwritable("bundle " + output, OPTION, failure);
        } finally {
            delete(workshop);
        }
    }

    /** Makes a new directory of what {@link #write} packs, which runs where it is. */
    public void assemble(Path directory) throws IOException {
        Files.createDirectory(directory);
        JavaRuntime.link(directory.resolve("runtime"));
        StoredJar.copy(jar, directory.resolve(jar.getFileName()));
        for (String library : attribute(jar, Attributes.Name.CLASS_PATH).split(" +")) {
            Path copy = directory.resolve(library);
            Files.createDirectories(copy.getParent());
            StoredJar.copy(jar.resolveSibling(library), copy);
        }
        for (Map.Entry<String, String> files : FILES.entrySet()) {
            Path from = home.resolve(files.getKey());
            if (Files.isDirectory(from)) {
                copyAll(from, files.getValue(), directory.resolve(files.getKey()));
            }
        }
    }

    private static void copyAll(Path from, String pattern, Path to) throws IOException {
        Files.createDirectories(to);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(from, pattern)) {
            for (Path file : files) {
                Files.copy(file, to.resolve(file.getFileName()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    /** When the jar says that it was made: the time of all files, so that equal ones are packed equally. */
    private LocalDateTime builtAt() throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.getEntry(JarFile.MANIFEST_NAME).getTimeLocal();
        }
    }

    private static String attribute(Path jar, Attributes.Name name) {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.getManifest().getMainAttributes().getValue(name);
        } catch (IOException failure) {
            throw FileFault.unreadable("program " + jar, failure);
        }
    }

    /** Deletes a directory of ours and what is in it. */
    private static void delete(Path directory) {
        try (Stream<Path> all = Files.walk(directory)) {
            List<Path> deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
            deepestFirst.forEach(path -> path.toFile().delete());
        } catch (IOException failure) {
            throw FileFault.unwritable("directory " + directory, OPTION, failure);
        }
    }
}
