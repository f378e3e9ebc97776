package org.isobar.bundle;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;

import org.isobar.fault.UserException;

/** A Java runtime that holds what Isobar needs of the running JDK, and no more. */
final class JavaRuntime {
    /**
     * What the program and its libraries ask for: {@code jdeps} names what is linked, runs show what is loaded by
     * name. These bring others with them.
     */
    private static final List<String> MODULES = List.of(
        "jdk.incubator.vector", // the CPU's operations
        "jdk.management",       // memory of the machine; the options that a process was started with
        "jdk.unsupported",      // sun.misc.Unsafe: JavaCPP, protobuf, LZ4
        "java.logging",         // protobuf
        "java.naming",          // Log4j looks for it when it starts
        "java.xml",             // Log4j's configurations
        "java.desktop");        // Log4j tells of changes as java.beans does

    private JavaRuntime() { }

    /**
     * Writes the runtime to a new directory. Nothing in it is compressed: the archive does that better.
     *
     * @throws UserException if this Java cannot make another
     */
    static void link(Path directory) {
        StringWriter said = new StringWriter();
        int code = jlink().run(new PrintWriter(said), new PrintWriter(said),
            "--add-modules", String.join(",", MODULES), "--output", directory.toString(),
            "--strip-java-debug-attributes", "--no-header-files", "--no-man-pages", "--compress", "zip-0");
        if (code != 0) {
            throw new UserException("jlink of " + home() + " cannot make a runtime: " + said.toString().strip()
                + "; with a JDK as its makers ship it (adoptium.net has them), named by JAVA_HOME, it works");
        }
    }

    /** The tool; not to have it shows before any work is done. */
    static ToolProvider jlink() {
        return ToolProvider.findFirst("jlink").orElseThrow(() -> new UserException("the Java that runs this, " + home()
            + ", has no jlink: bundles are made where Isobar was built, by a JDK, and not from within a bundle"));
    }

    private static String home() {
        return System.getProperty("java.home");
    }
}
