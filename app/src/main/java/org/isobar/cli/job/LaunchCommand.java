package org.isobar.cli.job;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;

import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ThreadCount;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.distributed.job.JobSecret;
import org.isobar.fault.UserException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/**
 * {@code isobar launch}: starts several processes of this program on this machine as the ranks of one job, as torchrun
 * does. Environment variables tell each process its rank, the rendezvous address and the job's secret.
 */
@Command(name = LaunchCommand.NAME, description = LaunchCommand.SUMMARY, sortOptions = false,
    mixinStandardHelpOptions = true, footer = "Example: isobar launch --nproc_per_node=2 train --config=demo")
public final class LaunchCommand implements Callable<Integer> {
    public static final String NAME = "launch";
    public static final String SUMMARY = "Run a command in several processes on this machine, as the ranks of one job.";
    private static final String LOOPBACK = "127.0.0.1";
    private static final int MOST_PROCESSES = 1024;

    private final ProgramContext context;
    @Spec
    private CommandSpec spec;
    @Option(names = "--nproc_per_node", paramLabel = "N", required = true, description = "Number of processes.")
    private int processes;
    @Option(names = "--master_port", paramLabel = "PORT",
        description = "Port on which rank 0 listens for the other ranks (default: a free one).")
    private Integer port;
    @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "The isobar command to run, with its options.")
    private List<String> command;

    private LaunchCommand(ProgramContext context) {
        this.context = context;
    }

    /** The parsed command line. Options after COMMAND belong to COMMAND. */
    public static CommandLine commandLine(ProgramContext context) {
        return new CommandLine(new LaunchCommand(context)).setStopAtPositional(true);
    }

    @Override
    public Integer call() throws InterruptedException {
        validate();
        List<String> line = new ArrayList<>(JavaCommand.command(spec.root().userObject().getClass()));
        line.addAll(command);
        CommandLine self = spec.commandLine();
        Map<String, String> environment = environment(context.environment(), processes,
            port == null ? freePort() : port);
        checkCommand(environment);
        try (LocalJob job = new LocalJob(self.getOut(), self.getErr(), LocalJob.Limits.DEFAULT)) {
            job.start(line, environment, processes);
            return job.await();
        }
    }

    /** Parses the options and resolves the configuration as rank 0 will, so that a mistake is reported once. */
    private void checkCommand(Map<String, String> environment) {
        CommandLine of = spec.root().subcommands().get(command.getFirst());
        ParseResult parsed = of.parseArgs(command.subList(1, command.size()).toArray(String[]::new));
        boolean help = parsed.isUsageHelpRequested() || parsed.isVersionHelpRequested();
        if (!help && ConfigOptions.areDeclaredBy(of.getCommandSpec())) {
            Map<String, String> ofFirst = LocalJob.ofRank(0, processes, environment);
            ConfigOptions.resolve(parsed, new ProgramContext(context.home(), ofFirst));
        }
    }

    private void validate() {
        if (processes < 1) {
            throw new UserException("--nproc_per_node=" + processes + ": a job has at least one process");
        }
        if (processes > MOST_PROCESSES) {
            throw new UserException("--nproc_per_node=" + processes + ": one machine runs at most " + MOST_PROCESSES
                + " processes of a job");
        }
        if (port != null && (port < 1 || port > 65535)) {
            throw new UserException("--master_port=" + port + " must lie between 1 and 65535");
        }
        Set<String> known = spec.root().subcommands().keySet();
        if (!known.contains(command.getFirst())) {
            throw new ParameterException(spec.commandLine(), "'" + command.getFirst() + "' is not a command of isobar."
                + SpellingSuggestion.hint(command.getFirst(), known) + " Commands: " + String.join(", ", known));
        }
    }

    /** The environment of all ranks: this process's own, and the job's variables. */
    static Map<String, String> environment(Map<String, String> own, int processes, int port) {
        Map<String, String> environment = new HashMap<>(own);
        // With it, RankEnvironment would take each rank for the shell of a Slurm job.
        environment.remove("SLURM_PROCID");
        environment.remove(JobSecret.FILE_VARIABLE);
        environment.put(JobSecret.VARIABLE, JobSecret.random());
        environment.put("WORLD_SIZE", String.valueOf(processes));
        environment.put("MASTER_ADDR", LOOPBACK);
        environment.put("MASTER_PORT", String.valueOf(port));
        ThreadCount.share(environment, processes); // --threads has precedence
        return environment;
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(LOOPBACK))) {
            return socket.getLocalPort();
        } catch (IOException failure) {
            throw new UserException("this machine has no free port on " + LOOPBACK + ": " + failure.getMessage(),
                failure);
        }
    }
}
