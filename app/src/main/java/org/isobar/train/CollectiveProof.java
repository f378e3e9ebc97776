package org.isobar.train;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.config.RunConfig;
import org.isobar.tensor.DType;
import org.isobar.train.CollectiveRehearsal.Recorded;
import org.isobar.train.DryScenario.Cause;
import org.isobar.train.DryScenario.Event;
import org.isobar.train.collectives.CollectiveEvent;
import org.isobar.train.collectives.CollectiveMatch;
import org.isobar.train.collectives.RankRoles;
import org.isobar.train.collectives.RankTrace;

/**
 * Proves before a job starts that all of its ranks will issue matching collectives: one rank of each role rehearses
 * training without data, and the traces are checked against each other, for every event that makes a run take another
 * course.
 */
public final class CollectiveProof {
    private final RunConfig config;
    private final RankRoles roles;
    private final List<Course> courses;

    /**
     * What was found.
     *
     * @param ranks       number of ranks
     * @param roles       number of different roles among them
     * @param rehearsed   number of these roles that were rehearsed
     * @param collectives number of collectives that the checked ranks issue in all courses of the run together
     * @param mismatch    the first mismatch, with rank, group and number of the operation; empty if all match
     */
    public record Result(int ranks, int roles, int rehearsed, long collectives, Optional<String> mismatch) {
        /** Whether some roles were left out. */
        boolean isSample() {
            return rehearsed < roles;
        }
    }

    /** A course of a run: what happens, and on which rank. */
    private record Course(Event event, Cause cause) { }

    /** The checks of one event. */
    private record Checked(long collectives, Optional<String> mismatch) { }

    private CollectiveProof(RunConfig config) {
        this.config = config;
        roles = new RankRoles(config.grid());
        courses = events().flatMap(event -> Stream.of(Cause.values())
            .filter(cause -> cause == Cause.PEER || event.isLocal()).map(cause -> new Course(event, cause))).toList();
    }

    /** Checks all ranks of a job whose processes all have this configuration, apart from their rank. */
    public static Result of(RunConfig config) {
        DType configured = config.training().ampMode().compute();
        boolean widened = configured == DType.F16 && config.device() == Backend.CPU; // a GPU supports each type
        CollectiveProof proof = new CollectiveProof(config);
        return proof.result(proof.rehearse(widened ? DType.F32 : configured, () -> true), proof.roles::spread);
    }

    /**
     * Checks one rank of each role, or of a sample of the roles.
     *
     * @param compute type of matrix products
     * @param hasTime whether there is time for a further role
     */
    static Result ofRoles(RunConfig config, DType compute, BooleanSupplier hasTime) {
        CollectiveProof proof = new CollectiveProof(config);
        return proof.result(proof.rehearse(compute, hasTime), proof.roles::alone);
    }

    /** The events that can happen: a run that saves no checkpoints does not stop on request. */
    private Stream<Event> events() {
        return config.grid().worldSize() == 1 ? Stream.of() : Stream.of(Event.values())
            .filter(event -> config.savesCheckpoints() || !event.isStop());
    }

    /** Rehearses all courses of one rank of each role, while there is time, but at least of two to compare. */
    private Map<Integer, Map<Course, Recorded>> rehearse(DType compute, BooleanSupplier hasTime) {
        Map<Integer, Map<Course, Recorded>> recorded = new LinkedHashMap<>();
        try (CollectiveRehearsal rehearsal =
            new CollectiveRehearsal(config, compute, CollectiveRehearsal.Length.DEFAULT)) {
            for (int rank : roles.representatives()) {
                if (recorded.size() < 2 || hasTime.getAsBoolean()) {
                    recorded.put(rank, courses.parallelStream().collect(Collectors.toConcurrentMap(
                        Function.identity(), course -> rehearsal.record(rank, course.event, course.cause))));
                }
            }
        }
        return recorded;
    }

    /** Checks what was recorded; {@code spread} makes the traces of all ranks from those of the rehearsed ones. */
    private Result result(Map<Integer, Map<Course, Recorded>> recorded,
        Function<Map<Integer, RankTrace>, List<RankTrace>> spread) {
        List<Checked> all = events().toList().parallelStream().map(event -> check(event, recorded, spread)).toList();
        return new Result(config.grid().worldSize(), roles.representatives().size(), recorded.size(),
            all.stream().mapToLong(Checked::collectives).sum(),
            all.stream().flatMap(checked -> checked.mismatch().stream()).findFirst());
    }

    private Checked check(Event event, Map<Integer, Map<Course, Recorded>> recorded,
        Function<Map<Integer, RankTrace>, List<RankTrace>> spread) {
        Map<Integer, Recorded> fromPeer = new LinkedHashMap<>();
        Map<Integer, RankTrace> traces = new LinkedHashMap<>();
        recorded.forEach((rank, of) -> {
            fromPeer.put(rank, of.get(new Course(event, Cause.PEER)));
            traces.put(rank, fromPeer.get(rank).trace());
        });
        List<RankTrace> all = spread.apply(traces);
        return new Checked(all.stream().mapToLong(trace -> trace.events().size() - trace.groups().size()).sum(),
            CollectiveMatch.check(all).or(() -> gradients(event, fromPeer)).or(() -> local(event, recorded))
                .map(found -> found + name(event)));
    }

    /** Checks the gradients of each step of each role; after a loss that is not finite, a batch is also read again. */
    private static Optional<String> gradients(Event event, Map<Integer, Recorded> recorded) {
        return event == Event.NON_FINITE ? Optional.empty() : recorded.entrySet().stream()
            .flatMap(entry -> steps(entry.getValue().trace()).stream()
            .flatMap(step -> entry.getValue().cover().check(entry.getKey(), step).stream())).findFirst();
    }

    private static Collection<List<CollectiveEvent>> steps(RankTrace trace) {
        return trace.events().stream().filter(event -> event.phase().startsWith(CollectiveRehearsal.STEP))
            .collect(Collectors.groupingBy(CollectiveEvent::phase, LinkedHashMap::new, Collectors.toList())).values();
    }

    /** Checks that a rank issues the same if an event comes from it as if it comes from another rank. */
    private static Optional<String> local(Event event, Map<Integer, Map<Course, Recorded>> recorded) {
        return !event.isLocal() ? Optional.empty() : recorded.entrySet().stream()
            .flatMap(entry -> difference(entry.getKey(), entry.getValue().get(new Course(event, Cause.OWN)).trace(),
            entry.getValue().get(new Course(event, Cause.PEER)).trace()).stream()).findFirst();
    }

    private static Optional<String> difference(int rank, RankTrace ofOwn, RankTrace ofOthers) {
        List<CollectiveEvent> own = ofOwn.events();
        List<CollectiveEvent> others = ofOthers.events();
        for (int i = 0; i < Math.max(own.size(), others.size()); i++) {
            if (i >= own.size() || i >= others.size() || !own.get(i).matches(others.get(i))) {
                return Optional.of("rank " + rank + " issues " + at(own, i) + " if this comes from it, and "
                    + at(others, i) + " if it comes from another rank");
            }
        }
        return Optional.empty();
    }

    private static String at(List<CollectiveEvent> events, int index) {
        return index < events.size() ? "group " + events.get(index).group() + ", " + events.get(index) : "nothing more";
    }

    private static String name(Event event) {
        return switch (event) {
            case NONE -> "";
            case RESUMED -> " (in a run that resumes)";
            case BRANCHED -> " (in a run that starts from another run's checkpoint)";
            case NON_FINITE -> " (in a run with a loss that is not finite)";
            case STOPPED_IN_STEP -> " (in a run that is stopped in a step)";
            case STOPPED_IN_VALIDATION -> " (in a run that is stopped in validation)";
        };
    }
}
