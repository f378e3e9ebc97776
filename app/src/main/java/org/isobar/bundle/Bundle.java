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
 * The program as one archive. It holds one directory, which runs wherever it is unpacked:
 *
 * <pre>
 * isobar-VERSION-PLATFORM/
 *   isobar  submit_pm*.sh  export_DDP_vars.sh  app/jvm.options  config/  bench/  docs/    as in the source tree
 *   isobar.jar  lib/    the program and its libraries
 *   native/             native libraries, unpacked from the jars of lib
 *   runtime/            a Java runtime
 * </pre>
 *
 * @param home the source tree: the directory of the launcher
 * @param jar  the program; its manifest names the version and, relative to the jar, the libraries
 * @param name name of the directory in the archive
 */
public record Bundle(Path home, Path jar, String name) {
    /** Files that are copied from the source tree: directories, and a pattern of the files of each. */
    private static final Map<String, String> FILES = Map.of(
        "", "{isobar,submit_pm*.sh,export_DDP_vars.sh,Containerfile,README.md,CHANGELOG.md,LICENSE}",
        "config", "*.yaml",
        "bench", "*.{sh,py}",
        "app", "jvm.options",
        "docs", "*.md",
        "docs/decisions", "*.md",
        "docs/benchmarks", "*.{md,svg,json}",
        "docs/tutorial", "*.{md,svg,png}",
        "docs/images", "*.{png,svg}",
        "example_logs/demo", "prediction.png"); // of the README
    private static final String OPTION = "--output";

    /**
     * The bundle of a source tree.
     *
     * @param home directory of the launcher
     * @param jar  the jar of the running program
     * @throws UserException if the program does not run from a jar, or runs from a bundle
     */
    public static Bundle of(Path home, Path jar) {
        JavaRuntime.jlink();
        if (!Files.isRegularFile(jar)) {
            throw new UserException("a bundle packs the built program, and this one runs from " + jar
                + "; start it with ./isobar, which builds it");
        }
        return new Bundle(home, jar, "isobar-" + attribute(jar, Attributes.Name.IMPLEMENTATION_VERSION) + "-linux-"
            + architecture());
    }

    /** The architecture, by JavaCPP's name. */
    private static String architecture() {
        String architecture = System.getProperty("os.arch");
        return switch (architecture) {
            case "amd64" -> "x86_64";
            case "aarch64" -> "arm64";
            default -> architecture;
        };
    }

    /** The default name of the archive. */
    public String fileName() {
        return name + ".tar.xz";
    }

    /**
     * Writes the archive and replaces an existing one. Its contents, some 300 MB, are first copied to a directory
     * isobar-bundle.tmp* beside it, which is deleted unless the program is killed.
     *
     * @throws UserException if the archive cannot be written, or this machine lacks a tool
     */
    public void write(Path output) {
        Path parent = output.toAbsolutePath().getParent();
        Path scratch;
        try {
            Files.createDirectories(parent);
            scratch = Files.createTempDirectory(parent, "isobar-bundle.tmp");
        } catch (IOException failure) {
            throw FileFault.unwritable("bundle " + output, OPTION, failure);
        }
        try {
            Path directory = scratch.resolve(name);
            assemble(directory);
            LocalDateTime time = builtAt();
            new AtomicFile("bundle", output, OPTION).write(channel ->
                Archive.write(directory, Channels.newOutputStream(channel), time));
        } catch (IOException failure) {
            throw FileFault.unwritable("bundle " + output, OPTION, failure);
        } finally {
            delete(scratch);
        }
    }

    /** Creates the directory that {@link #write} packs. The program runs from it. */
    public void assemble(Path directory) throws IOException {
        Files.createDirectory(directory);
        JavaRuntime.link(directory.resolve("runtime"));
        StoredJar.copyProgram(jar, directory.resolve(jar.getFileName()));
        for (String library : attribute(jar, Attributes.Name.CLASS_PATH).split(" +")) {
            Path copy = directory.resolve(library);
            Files.createDirectories(copy.getParent());
            StoredJar.copyLibrary(jar.resolveSibling(library), copy, directory.resolve(StoredJar.NATIVE));
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

    /** The build time in the jar. All files get it, so equal contents give equal archives. */
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

    /** Deletes a directory and everything in it. */
    private static void delete(Path directory) {
        try (Stream<Path> all = Files.walk(directory)) {
            List<Path> deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
            deepestFirst.forEach(path -> path.toFile().delete());
        } catch (IOException failure) {
            throw FileFault.unwritable("directory " + directory, OPTION, failure);
        }
    }
}
