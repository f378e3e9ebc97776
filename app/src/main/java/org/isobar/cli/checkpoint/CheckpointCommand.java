package org.isobar.cli.checkpoint;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Predicate;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.checkpoint.CheckpointMerge;
import org.isobar.checkpoint.CheckpointPath;
import org.isobar.checkpoint.TensorDifference;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.StoredTensors;
import org.isobar.cli.print.FactTable;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code isobar checkpoint}: what is in checkpoints, whether they are sound, and their weights for PyTorch. */
@Command(name = "checkpoint", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "COMMAND",
    description = "Look into checkpoints, check them, compare them, and turn them into files for PyTorch.")
public final class CheckpointCommand implements Runnable {
    public static final String NEWEST = "A checkpoint; or a directory of checkpoints, or a run's directory, of which "
        + "the newest sound one counts";

    @Spec
    private CommandSpec spec;

    private CheckpointCommand() { }

    /** The command with its own commands. */
    public static CommandLine commandLine() {
        return new CommandLine(new CheckpointCommand()).addSubcommand(new Inspect()).addSubcommand(new Verify())
            .addSubcommand(new MergeSlices()).addSubcommand(new Diff());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
            "Name a command: " + String.join(", ", spec.subcommands().keySet()));
    }

    /** Tells of checkpoints that were passed over, beside what a command prints. */
    private static Consumer<String> skipping(CommandSpec spec) {
        return reason -> {
            PrintWriter err = spec.commandLine().getErr();
            err.println("isobar: skipped: " + reason);
            err.flush();
        };
    }

    @Command(name = "inspect", mixinStandardHelpOptions = true,
        description = "Print what is in a checkpoint. Looks at its manifest and at the sizes of its files.")
    private static final class Inspect implements Runnable {
        @Spec
        private CommandSpec spec;
        @Parameters(paramLabel = "PATH", description = NEWEST + ".")
        private Path path;
        @Option(names = "--tensors", description = "List all files and tensors, too.")
        private boolean tensors;

        @Override
        public void run() {
            try (Checkpoint checkpoint = new CheckpointPath(path).open(IntegrityCheck.SIZES, skipping(spec))) {
                CheckpointDescription sheet = new CheckpointDescription(checkpoint, spec.commandLine().getOut());
                sheet.summary();
                if (tensors) {
                    sheet.contents();
                }
            }
        }
    }

    @Command(name = "verify", mixinStandardHelpOptions = true,
        description = "Read checkpoints from beginning to end and check all of their checksums. Exits with 2 if one "
            + "is not sound.")
    private static final class Verify implements Callable<Integer> {
        private static final int UNSOUND = 2;
        private static final int LISTED = 3;

        @Spec
        private CommandSpec spec;
        @Parameters(paramLabel = "PATH", arity = "1..*",
            description = "A checkpoint; or a directory of checkpoints, or a run's directory, of which all count.")
        private List<Path> paths;

        @Override
        public Integer call() {
            int code = 0;
            for (Path given : paths) {
                code = Math.max(code, verifyAll(given));
            }
            return code;
        }

        private int verifyAll(Path given) {
            try {
                return new CheckpointPath(given).all().stream().mapToInt(this::verify).max().orElse(0);
            } catch (UserException nothing) {
                return complain(nothing.getMessage());
            }
        }

        private int verify(Path path) {
            List<String> damage;
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                damage = checkpoint.verify();
                if (damage.isEmpty()) {
                    PrintWriter out = spec.commandLine().getOut();
                    out.println("checkpoint " + path + " is sound: " + CheckpointDescription.files(checkpoint));
                    out.flush();
                    return 0;
                }
            } catch (UserException unusable) {
                return complain(unusable.getMessage());
            }
            String more = damage.size() > LISTED ? "; and " + (damage.size() - LISTED) + " more" : "";
            return complain("checkpoint " + path + " is damaged: "
                + String.join("; ", damage.subList(0, Math.min(LISTED, damage.size()))) + more
                + "; use another one");
        }

        private int complain(String message) {
            PrintWriter err = spec.commandLine().getErr();
            err.println("isobar: " + message);
            err.flush();
            return UNSOUND;
        }
    }

    @Command(name = "merge", mixinStandardHelpOptions = true,
        description = "Write the weights of a checkpoint as one safetensors file, under the names and in the shapes of "
            + "PyTorch's state_dict.")
    private static final class MergeSlices implements Runnable {
        @Spec
        private CommandSpec spec;
        @Parameters(paramLabel = "PATH", description = NEWEST + ".")
        private Path path;
        @Option(names = "--output", paramLabel = "FILE", required = true,
            description = "The file, model.safetensors for example; one that is there is replaced.")
        private Path output;
        @Option(names = "--optimizer",
            description = "Write Adam's moments, too, as exp_avg.NAME and exp_avg_sq.NAME.")
        private boolean optimizer;

        @Override
        public void run() {
            try (Checkpoint checkpoint = new CheckpointPath(path).open(IntegrityCheck.CHECKSUMS, skipping(spec))) {
                CheckpointMerge.write(checkpoint, optimizer ? CheckpointMerge.Contents.WEIGHTS_AND_MOMENTS
                    : CheckpointMerge.Contents.WEIGHTS,
                    output);
                PrintWriter out = spec.commandLine().getOut();
                out.println("Wrote " + output + ", " + FactTable.bytes(Files.size(output)) + ", of checkpoint "
                    + checkpoint.path() + ".");
                out.flush();
            } catch (IOException e) {
                throw FileFault.unreadable("weights " + output, e);
            }
        }
    }

    @Command(name = "diff", mixinStandardHelpOptions = true,
        description = "Say which tensors differ, and by how much, and which entries of configuration and state do. "
            + "Exits with 0 if all tensors are bit-identical, 1 if not, and 2 if they cannot be compared.")
    private static final class Diff implements Callable<Integer> {
        private static final int DIFFERENT = 1;

        @Spec
        private CommandSpec spec;
        @Parameters(index = "0", paramLabel = "A", description = NEWEST + "; or a safetensors file.")
        private Path first;
        @Parameters(index = "1", paramLabel = "B", description = "What to compare it with: such a path, too.")
        private Path second;
        @Option(names = "--weights", description = "Compare the weights alone, and not the optimizer's moments.")
        private boolean weights;

        @Override
        public Integer call() {
            try (StoredTensors a = open(first); StoredTensors b = open(second)) {
                PrintWriter out = spec.commandLine().getOut();
                out.println("A  " + name(a, first));
                out.println("B  " + name(b, second));
                Predicate<String> which = weights ? TensorSlice::isWeight : name -> true;
                TensorDifference difference = TensorDifference.of(a, b, which);
                DifferenceTable table = new DifferenceTable(difference, out);
                table.print();
                if (a instanceof Checkpoint one && b instanceof Checkpoint other) {
                    DifferenceTable.entries("Configuration", one.configuration(), other.configuration(), out);
                    DifferenceTable.entries("State", one.state(), other.state(), out);
                }
                out.println();
                out.println(table.sum());
                out.flush();
                return difference.isNone() ? 0 : DIFFERENT;
            }
        }

        private StoredTensors open(Path path) {
            return Files.isRegularFile(path) ? SafeTensorsFile.open(path)
                : new CheckpointPath(path).open(IntegrityCheck.CHECKSUMS, skipping(spec));
        }

        private static String name(StoredTensors tensors, Path path) {
            return tensors instanceof Checkpoint checkpoint
                ? checkpoint.path() + ", iteration " + checkpoint.iteration() : path.toString();
        }
    }
}
