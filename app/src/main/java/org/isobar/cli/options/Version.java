package org.isobar.cli.options;

import java.util.Objects;

import picocli.CommandLine.IVersionProvider;

/** The version in the jar's manifest, and that of the Java that runs it. */
public final class Version implements IVersionProvider {
    /** "0.1.0", say. */
    public static String ofProgram() {
        return Objects.requireNonNullElse(Version.class.getPackage().getImplementationVersion(), "(not packaged)");
    }

    @Override
    public String[] getVersion() {
        return new String[] {"isobar " + ofProgram(),
            "Java " + Runtime.version() + ", " + System.getProperty("java.vm.name")};
    }
}
