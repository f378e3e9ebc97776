package org.isobar.cli;

import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;

import org.isobar.bundle.Bundle;
import org.isobar.cli.options.ProgramContext;
import org.isobar.fault.UserException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code isobar bundle}: packs the program and a Java runtime into one archive, for machines without Java. */
@Command(name = BundleCommand.NAME, mixinStandardHelpOptions = true, description = BundleCommand.SUMMARY)
final class BundleCommand implements Callable<Integer> {
    static final String NAME = "bundle";
    static final String SUMMARY = "Pack the program, its libraries and a Java runtime into one archive, for machines "
        + "without Java. The NVIDIA driver and CUDA are not in it.";

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--output", paramLabel = "FILE", description = "The archive; an existing file is replaced. "
        + "Default: isobar-VERSION-PLATFORM.tar.xz in the current directory.")
    private Path output;

    BundleCommand(ProgramContext context) {
        this.context = context;
    }

    @Override
    public Integer call() throws Exception {
        if (output != null && Files.isDirectory(output)) {
            throw new UserException("--output " + output + " is a directory; give the name of a file");
        }
        PrintWriter out = spec.commandLine().getOut();
        Bundle bundle = Bundle.of(context.home(), program());
        Path file = output == null ? Path.of(bundle.fileName()) : output;
        bundle.write(file);
        out.printf(Locale.ROOT, "Wrote %s, %.1f MB.%n", file, Files.size(file) / 1e6);
        out.println("On another machine: tar -xf " + file.getFileName() + " && " + bundle.name() + "/isobar doctor");
        out.flush();
        return 0;
    }

    /** The jar that the launcher started: the first entry of the class path. */
    private static Path program() {
        return Path.of(System.getProperty("java.class.path").split(File.pathSeparator, 2)[0]);
    }
}
