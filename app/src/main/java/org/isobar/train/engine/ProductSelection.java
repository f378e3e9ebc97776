package org.isobar.train.engine;

import java.io.OutputStream;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.device.DeviceException;
import org.isobar.device.OutOfDeviceMemoryException;
import org.isobar.device.ProductAlgorithms;
import org.isobar.device.ops.ProductShape;
import org.isobar.distributed.RankMessages;
import org.isobar.telemetry.RunLog;
import org.isobar.telemetry.Screen;
import org.isobar.train.memory.MemoryPlan;

/**
 * Selects the algorithms of a run's matrix products, as {@code --product_algorithms} says. Rank 0 tries those that are
 * not in the cache, before the device's memory is taken ({@link #decide}). When the ranks are connected, all use what
 * it has chosen ({@link #agree}), because replicated weights would drift apart otherwise. A product whose shape rank 0
 * does not have uses the algorithm that the library's heuristic prefers.
 */
public final class ProductSelection {
    /** Topic of the reports of all ranks except rank 0. */
    static final String REPORT = "product algorithms possible";
    private static final String PROPOSAL = "product algorithms proposed";
    private static final String DECISION = "product algorithms";
    private static final String TIMED = "timed";
    private static final String HEURISTIC = "heuristic";

    private final RunConfig config;
    private final Device device;
    private final RunLog log;
    private final Map<String, String> environment;
    private final Optional<ProductAlgorithms> algorithms; // empty if there is no choice
    private List<ProductShape> shapes = List.of();

    /**
     * Starts the selection of one rank.
     *
     * @param environment names the directory of caches
     */
    public ProductSelection(RunConfig config, Device device, RunLog log, Map<String, String> environment) {
        this.config = config;
        this.device = device;
        this.log = log;
        this.environment = environment;
        algorithms = device.productAlgorithms()
            .filter(_ -> config.products() == ProductAlgorithms.Choice.TIMED);
    }

    /** Decides on rank 0, by trials if need be. The device's memory is not yet taken. */
    public void decide(MemoryPlan plan) {
        if (algorithms.isEmpty()) {
            return;
        }
        shapes = plan.footprint().products().stream().sorted(Comparator.comparing(ProductShape::toString)).toList();
        if (config.ranks().rank() != 0) {
            return;
        }
        device.reserve(plan.footprint());
        try {
            new Trials(algorithms.get()).run();
        } catch (OutOfDeviceMemoryException | DeviceException failure) { // a failed device fails the next call
            algorithms.get().useHeuristic();
            log.warn("Products: the algorithms that " + algorithms.get().library() + " prefers, because a trial "
                + "failed: " + failure.getMessage());
        }
    }

    /** The trials of all products, and their summary. */
    private final class Trials {
        private final ProductAlgorithms library;
        private final TrialCache cache = new TrialCache(environment, "products",
            ", so that another run may have other bits");
        private int timed;
        private int kept;
        private int others;
        private double seconds;
        private double preferred;

        private Trials(ProductAlgorithms library) {
            this.library = library;
        }

        void run() {
            for (ProductShape shape : shapes) {
                List<String> candidates = library.candidates(shape);
                if (candidates.size() > 1) {
                    add(times(shape, candidates), candidates.getFirst());
                }
            }
            if (timed + kept > 0) {
                log.info(String.format(Locale.ROOT, "Products: algorithms of %s for %d products, %d of them timed now; "
                    + "%d are not those that it prefers; once each, the products take %.3f ms instead of %.3f ms",
                    library.library(), timed + kept, timed, others, seconds * 1e3, preferred * 1e3));
            }
        }

        private void add(ProductTimes times, String first) {
            others += times.algorithm().equals(first) ? 0 : 1;
            seconds += times.seconds();
            preferred += times.preferred();
        }

        private ProductTimes times(ProductShape shape, List<String> candidates) {
            String key = key(shape);
            Optional<ProductTimes> known = cache.read(key).flatMap(ProductTimes::parse)
                .filter(times -> library.use(shape, times.algorithm()).isEmpty());
            if (known.isPresent()) {
                kept++;
                return known.get();
            }
            try (ProductTrial trial = new ProductTrial(device, library, shape)) {
                ProductTimes times = trial.run(candidates, why -> log.warn("Products: an algorithm of "
                    + library.library() + " is not used: it " + why));
                cache.write(key, times.text(), log::warn);
                timed++;
                return times;
            }
        }

        /** Everything that speed and results depend on. */
        private String key(ProductShape shape) {
            return String.join("\n", library.library(), device.description(),
                "operands rounded by " + device.operandRoundoff(shape.operands()), shape.toString());
        }
    }

    /** Makes all ranks use the algorithms of rank 0, if every rank can. All ranks call this together. */
    public void agree(RankMessages messages) {
        if (algorithms.isEmpty() || messages.ranks() == 1) {
            return;
        }
        ProductAlgorithms library = algorithms.get();
        RankAgreement ranks = new RankAgreement(config, messages, "algorithms of products");
        String proposal;
        if (config.ranks().rank() == 0) {
            proposal = proposal(library);
            ranks.announce(PROPOSAL, proposal);
        } else {
            proposal = ranks.await(PROPOSAL);
        }
        if (proposal.isEmpty()) {
            return;
        }
        if (config.ranks().rank() == 0) {
            Optional<String> objection = ranks.objection(REPORT);
            objection.ifPresent(why -> log.warn("Products: the algorithms that " + library.library()
                + " prefers after all: " + why));
            ranks.announce(DECISION, objection.isEmpty() ? TIMED : HEURISTIC);
            objection.ifPresent(_ -> library.useHeuristic());
        } else {
            ranks.report(REPORT, accept(library, proposal));
            if (ranks.await(DECISION).equals(HEURISTIC)) {
                library.useHeuristic();
            }
        }
    }

    private String machine(ProductAlgorithms library) {
        return library.library() + " on " + device.description();
    }

    /** A line with library and device, then two lines for each product; empty without algorithms. */
    private String proposal(ProductAlgorithms library) {
        return library.used().isEmpty() ? "" : machine(library) + library.used().entrySet().stream()
            .map(use -> "\n" + use.getKey() + "\n" + use.getValue()).collect(Collectors.joining());
    }

    /** Uses the algorithms of rank 0; returns why this rank cannot. */
    private Optional<String> accept(ProductAlgorithms library, String proposal) {
        String[] lines = proposal.split("\n");
        if (!lines[0].equals(machine(library))) {
            return Optional.of("it has " + machine(library) + ", and rank 0 " + lines[0]);
        }
        Map<String, String> proposed = new LinkedHashMap<>();
        for (int line = 1; line < lines.length; line += 2) {
            proposed.put(lines[line], lines[line + 1]);
        }
        return shapes.stream().filter(shape -> proposed.containsKey(shape.toString()))
            .flatMap(shape -> library.use(shape, proposed.get(shape.toString())).stream()).findFirst();
    }

    /**
     * Makes the device of a process that is no member of a job use the fastest algorithms, without a cache. Called
     * before its memory is taken.
     */
    public static void choose(RunConfig config, Device device, MemoryPlan plan) {
        try (RunLog unused = new RunLog(Screen.plain(OutputStream.nullOutputStream()))) {
            new ProductSelection(config, device, unused, Map.of()).decide(plan);
        }
    }

    /**
     * The library that computes a device's products, with its version and the choice of its algorithms, such as
     * "cuBLASLt 13.2.1 heuristic"; empty if the device has its own kernels.
     */
    public static Optional<String> current(Device device) {
        return device.productAlgorithms().map(library -> library.library() + " " + (library.used().isEmpty()
            ? HEURISTIC : TIMED + " " + TrialCache.hash(library.used().entrySet().stream()
                .map(use -> use.getKey() + " " + use.getValue()).sorted().collect(Collectors.joining("\n")))));
    }
}
