package org.isobar.cli;

import java.nio.file.Path;
import java.util.List;

import org.isobar.report.RunReportPage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar report}: writes a page about runs. */
@Command(name = ReportCommand.NAME, mixinStandardHelpOptions = true, description = ReportCommand.SUMMARY)
final class ReportCommand implements Runnable {
    static final String NAME = "report";
    static final String SUMMARY = "Write an HTML page about runs, side by side: losses, scores, speed, memory, "
        + "restarts, maps and configurations. The page is one file that loads nothing.";

    @Spec
    private CommandSpec spec;
    @Parameters(paramLabel = "RUN", arity = "1..*",
        description = "Directories of runs, such as logs/demo/1GPU/00; a run may be under way.")
    private List<Path> runs;
    @Option(names = "--out", paramLabel = "FILE", defaultValue = RunReportPage.NAME,
        description = "The page; an existing file is replaced (default: ${DEFAULT-VALUE}).")
    private Path out;

    @Override
    public void run() {
        RunReportPage.of(runs).write(out, "--out");
        spec.commandLine().getOut().println("Wrote " + out + ".");
        spec.commandLine().getOut().flush();
    }
}
