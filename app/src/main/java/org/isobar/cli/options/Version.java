package org.isobar.cli.options;

import org.isobar.os.ProgramVersion;
import picocli.CommandLine.IVersionProvider;

/** The version of the program, from the jar's manifest, and that of the running Java. */
public final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
        return new String[] {"isobar " + ProgramVersion.text(),
            "Java " + Runtime.version() + ", " + System.getProperty("java.vm.name")};
    }
}
