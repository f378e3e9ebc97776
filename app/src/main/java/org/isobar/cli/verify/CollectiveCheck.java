package org.isobar.cli.verify;

import java.io.PrintWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

import org.isobar.cli.options.ConfigOptions;
import org.isobar.cli.options.ProgramContext;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.fault.UserException;
import org.isobar.train.CollectiveProof;
import picocli.CommandLine.ParseResult;

/**
 * {@code isobar verify --collectives}: proves that the ranks of a job will issue matching collectives.
 *
 * @param parsed the command's options
 */
record CollectiveCheck(ParseResult parsed, ProgramContext context) {
    private static final int MOST_RANKS = 1 << 16;
    /** Options of the command that are also keys of a preset. */
    private static final List<String> KEYS =
        List.of("device", "tensor_parallel", "context_parallel", "parallel_order", "comm_backend", "dropout");
    /** Options that have a meaning only with {@code --collectives}, and only without. */
    private static final List<String> WITH = List.of("--config", "--yaml_config", "--set", "--world_size");
    private static final List<String> WITHOUT = List.of("--threads", "--steps");

    /** Refuses the options of {@code --collectives} without it. */
    void requireNoPreset() {
        WITH.stream().filter(parsed::hasMatchedOption).findFirst().ifPresent(option -> {
            throw new UserException(option + " has a meaning for verify only together with --collectives; add that, or "
                + "leave it out");
        });
    }

    /** Checks, prints what was found, and returns the exit code: 0 if all match, 1 if not. */
    int run(Optional<Integer> worldSize, PrintWriter out) {
        WITHOUT.stream().filter(parsed::hasMatchedOption).findFirst().ifPresent(option -> {
            throw new UserException(option + " has no meaning together with --collectives; leave it out");
        });
        int ranks = worldSize.filter(count -> count >= 1 && count <= MOST_RANKS).orElseThrow(() ->
            new UserException("--collectives needs --world_size, the number of processes, from 1 to " + MOST_RANKS));
        RunConfig config = ConfigLoader.loadRaisingBatch(request(ranks), out::println);
        out.println("Layout: " + config.grid());
        long start = System.nanoTime();
        CollectiveProof.Result result = CollectiveProof.of(config);
        return report(result, (System.nanoTime() - start) / 1e9, out);
    }

    /** Prints a result, and returns the exit code. */
    static int report(CollectiveProof.Result result, double seconds, PrintWriter out) {
        out.printf(Locale.ROOT, "%d ranks of %d roles, %d collectives, checked in %.1f s%n", result.ranks(),
            result.roles(), result.collectives(), seconds);
        out.println(result.mismatch().map(found -> "FAILED " + found).orElse("All collectives match."));
        out.flush();
        return result.mismatch().isPresent() ? 1 : 0;
    }

    /** The configuration of rank 0 of the job. */
    private ConfigRequest request(int ranks) {
        Map<String, String> environment = new HashMap<>(context.environment());
        environment.putAll(Map.of("RANK", "0", "LOCAL_RANK", "0", "WORLD_SIZE", String.valueOf(ranks),
            "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "29500"));
        ConfigRequest request = ConfigOptions.request(parsed, new ProgramContext(context.home(), environment));
        for (String key : KEYS) {
            if (parsed.hasMatchedOption("--" + key)) {
                request = request.with(key, parsed.matchedOption("--" + key).originalStringValues().getFirst());
            }
        }
        return request;
    }
}
