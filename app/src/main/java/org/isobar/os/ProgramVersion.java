package org.isobar.os;

import java.util.Objects;

/** The version of this program. */
public final class ProgramVersion {
    private ProgramVersion() { }

    /** The version in the manifest of the program's jar, such as {@code 0.1.0}; without a jar "(not packaged)". */
    public static String text() {
        return Objects.requireNonNullElse(ProgramVersion.class.getPackage().getImplementationVersion(),
            "(not packaged)");
    }
}
