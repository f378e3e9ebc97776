package org.isobar.cli.options;

import java.util.Objects;

import picocli.CommandLine.IVersionProvider;

/** The version of the program, from the jar's manifest, and that of the running Java. */
public final class Version implements IVersionProvider {
    /** The program's version, such as {@code 0.1.0}. */
    public static String ofProgram() {
        return Objects.requireNonNullElse(Version.class.getPackage().getImplementationVersion(), "(not packaged)");
    }

    @Override
    public String[] getVersion() {
        return new String[] {"isobar " + ofProgram(),
            "Java " + Runtime.version() + ", " + System.getProperty("java.vm.name")};
    }
}
