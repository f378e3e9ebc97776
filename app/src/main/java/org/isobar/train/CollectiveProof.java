package org.isobar.train;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.Backend;
import org.isobar.config.RunConfig;
import org.isobar.tensor.DType;
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

    /**
     * What was found.
     *
     * @param ranks       number of ranks
     * @param roles       number of different roles among them
     * @param collectives number of collectives that all ranks issue in all courses of the run together
     * @param mismatch    the first mismatch, with rank, group and number of the operation; empty if all match
     */
    public record Result(int ranks, int roles, long collectives, Optional<String> mismatch) { }

    /** What was found in one course of the run. */
    private record Course(long collectives, Optional<String> mismatch) { }

    private CollectiveProof(RunConfig config) {
        this.config = config;
        roles = new RankRoles(config.grid());
    }

    /** Checks a job whose processes all have this configuration, apart from their rank. */
    public static Result of(RunConfig config) {
        return new CollectiveProof(config).result();
    }

    /** The type of products; a GPU is taken to support each. */
    private static DType compute(RunConfig config) {
        DType compute = config.training().ampMode().compute();
        return compute == DType.F16 && config.device() == Backend.CPU ? DType.F32 : compute;
    }

    private Result result() {
        List<Course> courses = events().parallelStream().map(this::course).toList();
        return new Result(config.grid().worldSize(), roles.representatives().size(),
            courses.stream().mapToLong(Course::collectives).sum(),
            courses.stream().flatMap(course -> course.mismatch().stream()).findFirst());
    }

    private Course course(DryScenario.Event event) {
        try (CollectiveRehearsal rehearsal =
            new CollectiveRehearsal(config, compute(config), CollectiveRehearsal.Length.DEFAULT)) {
            Map<Integer, CollectiveRehearsal.Recorded> recorded = new LinkedHashMap<>();
            Map<Integer, RankTrace> traces = new LinkedHashMap<>();
            for (int rank : roles.representatives()) {
                recorded.put(rank, rehearsal.record(rank, event, DryScenario.Cause.PEER));
                traces.put(rank, recorded.get(rank).trace());
            }
            List<RankTrace> all = roles.spread(traces);
            return new Course(
                all.stream().mapToLong(trace -> trace.events().size() - trace.groups().size()).sum(),
                CollectiveMatch.check(all).or(() -> gradients(event, recorded))
                    .or(() -> local(rehearsal, event, traces)).map(found -> found + name(event)));
        }
    }

    /** The events that can happen: a run that saves no checkpoints does not stop on request. */
    private List<DryScenario.Event> events() {
        return config.grid().worldSize() == 1 ? List.of() : Stream.of(DryScenario.Event.values())
            .filter(event -> TrainingSession.savesCheckpoints(config) || !event.isStop()).toList();
    }

    /** Checks the gradients of each step of each role; after a loss that is not finite, a batch is also read again. */
    private static Optional<String> gradients(DryScenario.Event event,
        Map<Integer, CollectiveRehearsal.Recorded> recorded) {
        return event == DryScenario.Event.NON_FINITE ? Optional.empty() : recorded.entrySet().stream()
            .flatMap(entry -> steps(entry.getValue().trace()).stream()
            .flatMap(step -> entry.getValue().cover().check(entry.getKey(), step).stream())).findFirst();
    }

    private static Collection<List<CollectiveEvent>> steps(RankTrace trace) {
        return trace.events().stream().filter(event -> event.phase().startsWith(CollectiveRehearsal.STEP))
            .collect(Collectors.groupingBy(CollectiveEvent::phase, LinkedHashMap::new, Collectors.toList())).values();
    }

    /** Checks that a rank issues the same if an event comes from it as if it comes from another rank. */
    private Optional<String> local(CollectiveRehearsal rehearsal, DryScenario.Event event,
        Map<Integer, RankTrace> fromPeer) {
        if (!event.isLocal()) {
            return Optional.empty();
        }
        for (int rank : roles.representatives()) {
            List<CollectiveEvent> own = rehearsal.record(rank, event, DryScenario.Cause.OWN).trace().events();
            List<CollectiveEvent> others = fromPeer.get(rank).events();
            for (int i = 0; i < Math.max(own.size(), others.size()); i++) {
                if (i >= own.size() || i >= others.size() || !own.get(i).matches(others.get(i))) {
                    return Optional.of("rank " + rank + " issues " + at(own, i) + " if this comes from it, and "
                        + at(others, i) + " if it comes from another rank");
                }
            }
        }
        return Optional.empty();
    }

    private static String at(List<CollectiveEvent> events, int index) {
        return index < events.size() ? "group " + events.get(index).group() + ", " + events.get(index) : "nothing more";
    }

    private static String name(DryScenario.Event event) {
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
