package org.isobar.exercise;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

import org.isobar.exercise.api.RankGroup;
import org.isobar.fault.UserException;

/** Compiles a file of the reader's with the compiler of the running JDK. */
final class SourceCompiler {
    private static final int MOST_ERRORS = 5;

    private SourceCompiler() { }

    /**
     * Compiles {@code file} into {@code directory}, and loads its class of the same name. The loader stays open as long
     * as the class is used.
     *
     * @throws UserException if it does not compile; names file, line and error
     */
    static Class<?> compile(Path file, Path directory) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(found, Locale.ROOT, null)) {
            List<String> options = List.of("-d", directory.toString(), "-cp", program().toString(), "-g", "-proc:none",
                "-implicit:none");
            if (!compiler.getTask(null, files, found, options, null, files.getJavaFileObjects(file)).call()) {
                throw new UserException(errors(file, found.getDiagnostics()));
            }
        }
        return load(file, directory);
    }

    private static String errors(Path file, List<Diagnostic<? extends JavaFileObject>> found) {
        List<String> errors = found.stream().filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
            .map(each -> file.getFileName() + ":" + each.getLineNumber() + ": "
                + each.getMessage(Locale.ROOT).strip().replaceAll("\\s+", " ")).toList();
        return file + " does not compile:" + errors.stream().limit(MOST_ERRORS).map(error -> "\n  " + error)
            .collect(Collectors.joining())
            + (errors.size() > MOST_ERRORS ? "\n  and " + (errors.size() - MOST_ERRORS) + " more errors" : "");
    }

    private static Class<?> load(Path file, Path directory) throws MalformedURLException {
        String name = file.getFileName().toString().replaceFirst("\\.java$", "");
        URL[] places = {directory.toUri().toURL()};
        URLClassLoader loader = new URLClassLoader(places, SourceCompiler.class.getClassLoader());
        try {
            return loader.loadClass(name);
        } catch (ClassNotFoundException missing) {
            throw new UserException(file + " has no class " + name + "; keep the class's name, and no package",
                missing);
        }
    }

    /** The jar or directory of this program's classes. */
    private static Path program() {
        try {
            return Path.of(RankGroup.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
