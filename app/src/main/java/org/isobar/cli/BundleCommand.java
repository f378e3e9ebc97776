package org.isobar.cli;

import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;

import org.isobar.bundle.Bundle;
import org.isobar.cli.options.ProgramContext;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar bundle}: packs the program with a Java of its own, for machines that have none. */
@Command(name = "bundle", mixinStandardHelpOptions = true,
    description = "Write the program, with all that it needs but a driver and CUDA, as one archive.")
final class BundleCommand implements Callable<Integer> {
    private final ProgramContext launch;
    @Spec
    private CommandSpec spec;
    @Option(names = "--output", paramLabel = "FILE", description = "The archive; one that is there is replaced. "
        + "Default: isobar-VERSION-PLATFORM.tar.xz in the current directory.")
    private Path output;

    BundleCommand(ProgramContext launch) {
        this.launch = launch;
    }

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        Bundle bundle = Bundle.of(launch.home(), program());
        Path file = output == null ? Path.of(bundle.fileName()) : output;
        bundle.write(file);
        out.printf(Locale.ROOT, "Wrote %s, %.1f MB.%n", file, Files.size(file) / 1e6);
        out.println("Elsewhere: tar -xf " + file.getFileName() + " && " + bundle.name() + "/isobar doctor");
        out.flush();
        return 0;
    }

    /** What Java was started with: the jar, by the launcher. */
    private static Path program() {
        return Path.of(System.getProperty("java.class.path").split(File.pathSeparator, 2)[0]);
    }
}
