package org.isobar.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;

import org.isobar.exercise.Exercise;
import org.isobar.os.ShellWords;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar exercise}: lists the tutorial's exercises, copies one to edit, and checks what was written. */
@Command(name = ExerciseCommand.NAME, mixinStandardHelpOptions = true, sortOptions = false,
    description = ExerciseCommand.SUMMARY)
final class ExerciseCommand implements Callable<Integer> {
    static final String NAME = "exercise";
    static final String SUMMARY = "Copy an exercise of the tutorial to edit, or check it. Without a name, list the "
        + "exercises.";
    private static final int WRONG = 1;

    @Parameters(arity = "0..1", paramLabel = "NAME", description = "The exercise.")
    private String name;
    @Option(names = "--out", paramLabel = "DIR", defaultValue = "exercises",
        description = "Directory to write the copy to (default: ${DEFAULT-VALUE}).")
    private Path out;
    @Option(names = "--check", arity = "0..1", paramLabel = "PATH", fallbackValue = "",
        description = "Compile, run and compare the file, or the file in this directory (default: that of --out). "
            + "Exit code 0: it is right; 1: it is wrong; 2: there is no such file, or it does not compile.")
    private String place;
    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter printer = spec.commandLine().getOut();
        try {
            return name == null ? list(printer) : place == null ? copy(printer) : check(printer);
        } finally {
            printer.flush();
        }
    }

    private static int list(PrintWriter printer) {
        Exercise.ALL.forEach(each -> printer.printf("%-16s %s%n", each.name(), each.summary()));
        return 0;
    }

    private int copy(PrintWriter printer) {
        Path file = Exercise.named(name).copy(out);
        printer.println("Wrote " + file + ". Fill in what its TODOs ask for, and then: isobar exercise " + name
            + " --check" + (out.equals(Path.of("exercises")) ? "" : " " + ShellWords.join(List.of(file.toString()))));
        return 0;
    }

    private int check(PrintWriter printer) {
        Exercise exercise = Exercise.named(name);
        List<String> wrong = exercise.check(place.isEmpty() ? out : Path.of(place));
        if (wrong.isEmpty()) {
            printer.println(name + ": right: " + exercise.correct());
            return 0;
        }
        printer.println(name + ": not yet right:");
        wrong.forEach(line -> printer.println("  " + line));
        return WRONG;
    }
}
