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

/** {@code isobar checkpoint}: inspects, verifies, exports and compares checkpoints. */
@Command(name = CheckpointCommand.NAME, mixinStandardHelpOptions = true, synopsisSubcommandLabel = "COMMAND",
    description = CheckpointCommand.SUMMARY)
public final class CheckpointCommand implements Runnable {
    public static final String NAME = "checkpoint";
    public static final String SUMMARY = "Inspect, verify and compare checkpoints, and export their weights for "
        + "PyTorch.";

    public static final String NEWEST = "A checkpoint, a directory of checkpoints or a run's directory; of several "
        + "checkpoints, the newest that is intact";

    @Spec
    private CommandSpec spec;

    private CheckpointCommand() { }

    /** The command with its subcommands. */
    public static CommandLine commandLine() {
        return new CommandLine(new CheckpointCommand()).addSubcommand(new Inspect()).addSubcommand(new Verify())
            .addSubcommand(new MergeSlices()).addSubcommand(new Diff());
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
            "Name a command: " + String.join(", ", spec.subcommands().keySet()));
    }

    /** Prints on standard error why a checkpoint was skipped. */
    private static Consumer<String> skipping(CommandSpec spec) {
        return reason -> {
            PrintWriter err = spec.commandLine().getErr();
            err.println("isobar: skipped: " + reason);
            err.flush();
        };
    }

    @Command(name = "inspect", mixinStandardHelpOptions = true,
        description = "Print the contents of a checkpoint. Reads its manifest and the sizes of its files.")
    private static final class Inspect implements Runnable {
        @Spec
        private CommandSpec spec;
        @Parameters(paramLabel = "PATH", description = NEWEST + ".")
        private Path path;
        @Option(names = "--tensors", description = "Also list all files and tensors.")
        private boolean tensors;

        @Override
        public void run() {
            try (Checkpoint checkpoint = new CheckpointPath(path).open(IntegrityCheck.SIZES, skipping(spec))) {
                CheckpointDescription facts = new CheckpointDescription(checkpoint, spec.commandLine().getOut());
                facts.summary();
                if (tensors) {
                    facts.contents();
                }
            }
        }
    }

    @Command(name = "verify", mixinStandardHelpOptions = true,
        description = "Read checkpoints completely and verify all checksums. Exits with 2 if one is damaged.")
    private static final class Verify implements Callable<Integer> {
        private static final int DAMAGED = 2;
        private static final int MOST_LISTED = 3;

        @Spec
        private CommandSpec spec;
        @Parameters(paramLabel = "PATH", arity = "1..*",
            description = "A checkpoint, a directory of checkpoints or a run's directory; all checkpoints in it are "
                + "verified.")
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
            } catch (UserException absent) {
                return complain(absent.getMessage());
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
            String more = damage.size() > MOST_LISTED ? "; and " + (damage.size() - MOST_LISTED) + " more" : "";
            return complain("checkpoint " + path + " is damaged: "
                + String.join("; ", damage.subList(0, Math.min(MOST_LISTED, damage.size()))) + more
                + "; use another one");
        }

        private int complain(String message) {
            PrintWriter err = spec.commandLine().getErr();
            err.println("isobar: " + message);
            err.flush();
            return DAMAGED;
        }
    }

    @Command(name = "merge", mixinStandardHelpOptions = true,
        description =
        "Write the weights of a checkpoint as one safetensors file, with the names and shapes of PyTorch's "
            + "state_dict.")
    private static final class MergeSlices implements Runnable {
        @Spec
        private CommandSpec spec;
        @Parameters(paramLabel = "PATH", description = NEWEST + ".")
        private Path path;
        @Option(names = "--output", paramLabel = "FILE", required = true,
            description = "The file, such as model.safetensors; an existing file is replaced.")
        private Path output;
        @Option(names = "--optimizer",
            description = "Also write Adam's moments, as exp_avg.NAME and exp_avg_sq.NAME.")
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
        description = "Print which tensors differ and by how much, and which entries of configuration and state "
            + "differ. Exits with 0 if all tensors are bit-identical, 1 if not, 2 if they cannot be compared.")
    private static final class Diff implements Callable<Integer> {
        private static final int DIFFERENT = 1;

        @Spec
        private CommandSpec spec;
        @Parameters(index = "0", paramLabel = "A", description = NEWEST + "; or a safetensors file.")
        private Path first;
        @Parameters(index = "1", paramLabel = "B", description = "What to compare A with; a path like A.")
        private Path second;
        @Option(names = "--weights", description = "Compare the weights only, not the optimizer's moments.")
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
                out.println(table.summary());
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
