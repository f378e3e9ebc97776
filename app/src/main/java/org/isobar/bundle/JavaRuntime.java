package org.isobar.bundle;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;

import org.isobar.fault.UserException;

/** Builds a Java runtime from the modules of the running JDK that Isobar needs. */
final class JavaRuntime {
    /**
     * Modules that the program and its libraries use, as found by {@code jdeps} and, for classes loaded by name, by
     * running it. They require further modules.
     */
    private static final List<String> MODULES = List.of(
        "jdk.incubator.vector", // the CPU's operations
        "jdk.management",       // memory of the machine; JVM options of this process
        "jdk.unsupported",      // sun.misc.Unsafe: JavaCPP, protobuf, LZ4
        "java.logging",         // protobuf
        "java.naming",          // Log4j looks for it at start
        "java.xml",             // Log4j's configuration
        "java.desktop");        // java.beans, for Log4j

    private JavaRuntime() { }

    /**
     * Writes the runtime to a new directory, uncompressed, because the archive compresses better.
     *
     * @throws UserException if jlink fails
     */
    static void link(Path directory) {
        StringWriter output = new StringWriter();
        int code = jlink().run(new PrintWriter(output), new PrintWriter(output),
            "--add-modules", String.join(",", MODULES), "--output", directory.toString(),
            "--strip-java-debug-attributes", "--no-header-files", "--no-man-pages", "--compress", "zip-0");
        if (code != 0) {
            throw new UserException("jlink of " + home() + " cannot make a runtime: " + output.toString().strip()
                + "; set JAVA_HOME to a complete JDK, such as one of adoptium.net");
        }
    }

    /** The tool. {@link Bundle#of} calls this first, so a missing tool is reported before any work. */
    static ToolProvider jlink() {
        return ToolProvider.findFirst("jlink").orElseThrow(() -> new UserException("the Java that runs this, " + home()
            + ", has no jlink: make bundles from a source tree with a JDK, not from within a bundle"));
    }

    private static String home() {
        return System.getProperty("java.home");
    }
}
