package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.RunConfig;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;
import org.isobar.train.DryScenario.Cause;
import org.isobar.train.DryScenario.Event;
import org.isobar.train.collectives.CollectiveMatch;
import org.isobar.train.collectives.RankRoles;
import org.isobar.train.collectives.RankTrace;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The proof that collectives match finds planted mistakes, each with rank, group and number, and nothing else. */
class CollectiveProofTest {
    private static final int RANKS = 8;
    private static final String[] LAYOUT =
        {"tensor_parallel=2", "context_parallel=2", "depth=1", TinyRun.WIDER, "validate_rollout=2",
            "final_rollout=2"}; // dp is 2
    private static final String[] IN_TP = {"rank 2", "rank 3", "group tp [2, 3], operation "};
    private static List<CollectiveRehearsal.Recorded> sound;

    /** Replaces traces of some of the sound ranks. */
    private interface Plant extends Consumer<List<RankTrace>> { }

    @BeforeAll
    static void record() {
        sound = recorded(Event.NONE);
    }

    private static RunConfig config(int ranks, String... settings) {
        return TinyRun.jobConfig(Path.of("data"), Path.of("logs"), ranks, settings);
    }

    private static RunConfig config(String... more) {
        return config(RANKS, Stream.concat(Stream.of(LAYOUT), Stream.of(more)).toArray(String[]::new));
    }

    private static List<CollectiveRehearsal.Recorded> recorded(Event event) {
        try (CollectiveRehearsal rehearsal = rehearsal(CollectiveRehearsal.Length.DEFAULT)) {
            return IntStream.range(0, RANKS).mapToObj(rank -> rehearsal.record(rank, event, Cause.PEER)).toList();
        }
    }

    private static CollectiveRehearsal rehearsal(CollectiveRehearsal.Length length, String... more) {
        return new CollectiveRehearsal(config(more), DType.F32, length);
    }

    private static List<RankTrace> traces() {
        return new ArrayList<>(sound.stream().map(CollectiveRehearsal.Recorded::trace).toList());
    }

    @Test
    void eightSoundRanksMatch() {
        CollectiveProof.Result result = CollectiveProof.of(config());
        assertEquals(Optional.empty(), result.mismatch());
        assertEquals(RANKS, result.roles());
        assertTrue(result.collectives() > 1000, result::toString);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("plants")
    void aPlantedMistakeIsNamed(String name, Plant plant, List<String> expected) {
        List<RankTrace> ranks = traces();
        plant.accept(ranks);
        String found = CollectiveMatch.check(ranks).orElse("nothing");
        assertTrue(expected.stream().allMatch(found::contains), found);
    }

    @Test
    void theManualHasWhatIsFound() throws IOException {
        List<RankTrace> ranks = traces();
        ranks.set(3, new PlantedMismatch(ranks.get(3)).to("step 1", "tp", Kind.ALL_REDUCE).part(1, 0).trace());
        String found = CollectiveMatch.check(ranks).orElse("nothing");
        assertTrue(Files.readString(Path.of("../docs/parallelism.md")).contains("\nFAILED " + found + "\n"), found);
    }

    private static Arguments one(String name, int rank, Consumer<PlantedMismatch> mistake, String... expected) {
        return several(name, List.of(rank), mistake, expected);
    }

    private static Arguments several(String name, List<Integer> at, Consumer<PlantedMismatch> mistake,
        String... expected) {
        Plant plant = ranks -> at.forEach(rank -> {
            PlantedMismatch planted = new PlantedMismatch(ranks.get(rank));
            mistake.accept(planted);
            ranks.set(rank, planted.trace());
        });
        return Arguments.of(name, plant, List.of(expected));
    }

    static Stream<Arguments> plants() {
        return Stream.of(
            one("omission", 3, p -> p.to("step 2", "tp", Kind.ALL_REDUCE).omit(), IN_TP),
            one("repetition", 3, p -> p.to("step 2", "tp", Kind.ALL_REDUCE).repeat(), "rank 2", "rank 3"),
            one("size", 3, p -> p.to("step 1", "tp", Kind.ALL_REDUCE).part(1, 0), IN_TP),
            one("type", 3, p -> p.to("step 1", "tp", Kind.ALL_REDUCE).type(DType.BF16), IN_TP),
            one("operator", 3, p -> p.to("step 1", "tp", Kind.ALL_REDUCE).reduction(Reduction.MAX), IN_TP),
            one("scale of a bucket", 5, p -> p.to("step 2", "cp-dp", Kind.ALL_REDUCE).reduction(Reduction.AVERAGE),
                "rank 5", "group cp-dp [1, 3, 5, 7], operation ", "average"),
            one("size of a bucket", 5, p -> p.to("step 2", "cp-dp", Kind.ALL_REDUCE).part(64, 0),
                "rank 5", "group cp-dp [1, 3, 5, 7], operation "),
            one("root", 6, p -> p.to("start", "tp-cp-dp", Kind.BROADCAST).root(1), "rank 6", "root 1", "root 0",
                "operation 0"),
            one("kind", 4, p -> p.to("step 3", "cp", Kind.REDUCE_SCATTER).kind(Kind.ALL_GATHER), "rank 4", "rank 6",
                "group cp [4, 6], operation "),
            one("last part of cp", 6, p -> p.to("validation", "cp", Kind.ALL_GATHER).part(0, 32), "rank 4", "rank 6",
                "group cp [4, 6], operation ", "parts ["),
            one("order within a group", 1, p -> p.to("step 1", "cp", Kind.REDUCE_SCATTER).kind(Kind.ALL_GATHER)
                .to("step 1", "cp", Kind.ALL_GATHER).kind(Kind.REDUCE_SCATTER), "rank 1", "rank 3",
                "group cp [1, 3], operation "),
            several("calls of two ranks alone", List.of(3, 6), p -> p.to("save", "tp-cp-dp", Kind.ALL_REDUCE)
                .insert("tp", Kind.BARRIER, 0, 0), "rank 3", "rank 2", "group tp [2, 3], operation "),
            Arguments.of("ranks that wait in a circle", (Plant) CollectiveProofTest::circle,
                List.of("ranks wait for each other", "group tp", "group dp")),
            one("crossed groups", 3, p -> p.members("tp", 3, 4), "group tp", "rank 3"),
            one("members in another order", 3, p -> p.members("tp", 3, 2), "group tp", "rank 3"),
            one("a member that is not in the group", 3, p -> p.members("tp", 0, 1), "rank 3", "group tp", "[0, 1]"),
            one("a group that one rank lacks", 3, p -> p.without("tp"), "rank 3", "group tp", "missing"),
            one("a call before the opening", 3, p -> p.toOpening("tp").omit(), "rank 3", "group tp", "not open"),
            one("opened twice", 3, p -> p.toOpening("tp").repeat(), "rank 3", "group tp", "opened twice"),
            one("a weight that is not gathered", 1, p -> p.to("weights", "tp", Kind.ALL_GATHER).omit(), "rank 0",
                "rank 1", "group tp [0, 1], operation "),
            one("a roll-out that is left out", 2, p -> p.to("roll-outs", "tp", Kind.ALL_REDUCE).omit(), IN_TP),
            one("no last save", 7, p -> p.to("step 6", "tp-cp-dp", Kind.ALL_REDUCE).end(), "rank 7", "group tp-cp-dp"),
            one("a send that is not received", 2, p -> p.to("step 1", "tp", Kind.ALL_REDUCE)
                .insert("tp", Kind.SEND, 1, 8), "rank 2", "group tp", "send", "rank 3"),
            one("a receive that is not sent", 2, p -> p.to("step 1", "tp", Kind.ALL_REDUCE)
                .insert("tp", Kind.RECEIVE, 1, 8), "rank 2", "group tp", "receive"),
            Arguments.of("a send of another size", (Plant) ranks -> pair(ranks, 8, 9), List.of("rank 3", "receive")));
    }

    /** Each of two ranks issues two barriers in an order that suits its partner of one group only. */
    private static void circle(List<RankTrace> ranks) {
        for (int rank = 0; rank < RANKS; rank++) {
            boolean tpFirst = rank != 3 && rank != 6;
            ranks.set(rank, new PlantedMismatch(ranks.get(rank)).to("save", "tp-cp-dp", Kind.ALL_REDUCE)
                .insert(tpFirst ? "dp" : "tp", Kind.BARRIER, 0, 0).insert(tpFirst ? "tp" : "dp", Kind.BARRIER, 0, 0)
                .trace());
        }
    }

    private static void pair(List<RankTrace> ranks, long sent, long received) {
        ranks.set(2, new PlantedMismatch(ranks.get(2)).to("step 1", "tp", Kind.ALL_REDUCE)
            .insert("tp", Kind.SEND, 1, sent).trace());
        ranks.set(3, new PlantedMismatch(ranks.get(3)).to("step 1", "tp", Kind.ALL_REDUCE)
            .insert("tp", Kind.RECEIVE, 0, received).trace());
    }

    @Test
    void aSendMeetsItsReceive() {
        List<RankTrace> ranks = traces();
        pair(ranks, 8, 8);
        assertEquals(Optional.empty(), CollectiveMatch.check(ranks));
    }

    /** What all ranks do wrong in the same way, a comparison of ranks cannot find. */
    @ParameterizedTest
    @CsvSource({"omitted, in 0 buckets", "twice, in 2 buckets", "scale, average", "group, declared for group",
        "short, partly outside of", "kind, reduce-scatter"})
    void aGradientThatIsReducedWronglyIsFound(String mistake, String expected) {
        CollectiveRehearsal.Recorded one = sound.get(4);
        PlantedMismatch planted = new PlantedMismatch(one.trace()).to("step 4", event -> event.group().equals("cp-dp")
            && event.tensor().overlaps(one.cover().gradients()));
        switch (mistake) {
            case "omitted" -> planted.omit();
            case "twice" -> planted.repeat();
            case "scale" -> planted.reduction(Reduction.AVERAGE);
            case "group" -> planted.group("dp");
            case "short" -> planted.tensor(tensor -> tensor.slice(0, tensor.elements() - 1));
            default -> planted.kind(Kind.REDUCE_SCATTER);
        }
        String found = one.cover().check(4, planted.trace().events().stream()
            .filter(event -> event.phase().equals("step 4")).toList()).orElse("nothing");
        assertTrue(found.startsWith("rank 4, gradient elements ") && found.contains(expected), found);
    }

    /** A bad loss is found although the scores of an evaluation have as many numbers: 2 + 1 + 2 like 1 + 2 * 2. */
    @Test
    void theLossOfAStepIsNotTakenForThatOfAnEvaluation() {
        try (CollectiveRehearsal rehearsal = rehearsal(CollectiveRehearsal.Length.DEFAULT, "n_out_channels=2",
                "local_batch_size=1", "accumulate_steps=2")) {
            assertTrue(rehearsal.record(0, Event.NON_FINITE, Cause.OWN).trace().events().size()
                < rehearsal.record(0, Event.NONE, Cause.OWN).trace().events().size(), "the run did not end");
        }
    }

    /** One rank with another configuration or another course of the run. */
    @ParameterizedTest
    @CsvSource({"noddp=true, 5", "recompute=block, 3", "checkpoint_every=2, 7",
        "on_nan=skip, 2", "n_out_channels=2, 4", "validate_rollout=1, 6", "final_rollout=None, 0",
        "embed_dim=64, 1", "local_batch_size=2, 3"})
    void aRankThatIsConfiguredOtherwiseIsNamed(String setting, int rank) {
        try (CollectiveRehearsal other = rehearsal(CollectiveRehearsal.Length.DEFAULT, setting)) {
            assertNamed(rank, other.record(rank, Event.NONE, Cause.PEER).trace());
        }
    }

    @ParameterizedTest
    @CsvSource({"RESUMED, 1", "BRANCHED, 6", "NON_FINITE, 4", "STOPPED_IN_STEP, 7", "STOPPED_IN_VALIDATION, 2"})
    void aRankThatTakesAnotherCourseIsNamed(Event event, int rank) {
        try (CollectiveRehearsal other = rehearsal(CollectiveRehearsal.Length.DEFAULT)) {
            assertNamed(rank, other.record(rank, event, Cause.PEER).trace());
        }
    }

    @ParameterizedTest
    @CsvSource({"2, 3, 2", "2, 1, 2", "1, 2, 2", "2, 2, 3"})
    void aRankWithOtherLengthsIsNamed(int epochs, int validations, int rollOuts) {
        try (CollectiveRehearsal other = rehearsal(new CollectiveRehearsal.Length(epochs, validations, rollOuts))) {
            assertNamed(2, other.record(2, Event.NONE, Cause.PEER).trace());
        }
    }

    private static void assertNamed(int rank, RankTrace trace) {
        List<RankTrace> ranks = traces();
        ranks.set(rank, trace);
        String found = CollectiveMatch.check(ranks).orElse("nothing");
        assertTrue(found.contains("rank " + rank) && found.contains("group ") && found.contains("operation "), found);
    }

    /** One rank of each role stands for all: nothing but being first or last along an axis matters. */
    @Test
    void ranksOfARoleIssueTheSame() {
        RunConfig config = config(20, "tensor_parallel=1", "context_parallel=5", "depth=1", "global_batch_size=4");
        RankRoles roles = new RankRoles(config.grid());
        assertEquals(9, roles.representatives().size());
        try (CollectiveRehearsal rehearsal = new CollectiveRehearsal(config, DType.F32,
            CollectiveRehearsal.Length.DEFAULT)) {
            Map<Integer, RankTrace> all = new TreeMap<>();
            for (int rank = 0; rank < 20; rank++) {
                all.put(rank, rehearsal.record(rank, Event.NONE, Cause.PEER).trace());
            }
            assertEquals(20, roles.spread(all).size()); // fails if a rank has other groups than its grid
            all.forEach((rank, trace) -> assertMatch(all.get(roles.representative(rank)), trace));
            aloneTheyMatchOrNotAsAllDo(roles, all);
        }
    }

    private static void aloneTheyMatchOrNotAsAllDo(RankRoles roles, Map<Integer, RankTrace> all) {
        Map<Integer, RankTrace> representatives = new TreeMap<>(all);
        representatives.keySet().retainAll(roles.representatives());
        assertEquals(Optional.empty(), CollectiveMatch.check(roles.alone(representatives)));
        assertEquals(Optional.empty(), CollectiveMatch.check(roles.spread(representatives)));
        representatives.compute(1, (_, trace) -> new PlantedMismatch(trace).to("step 2", "cp", Kind.ALL_GATHER).omit()
            .trace());
        for (List<RankTrace> mistaken : List.of(roles.alone(representatives), roles.spread(representatives))) {
            String found = CollectiveMatch.check(mistaken).orElse("nothing");
            assertTrue(found.contains("rank 1, group cp [0, 1, "), found);
        }
    }

    private static void assertMatch(RankTrace expected, RankTrace trace) {
        assertEquals(expected.events().size(), trace.events().size());
        for (int i = 0; i < trace.events().size(); i++) {
            assertTrue(trace.events().get(i).matches(expected.events().get(i)), trace.events().get(i)::toString);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = 25)
    void soundConfigurationsMatch(long count) {
        assertSound(count, 1, 2);
    }

    @Tag("slow")
    @ParameterizedTest
    @ValueSource(longs = 500)
    void manySoundConfigurationsMatch(long count) {
        assertSound(count, 2, 4);
    }

    @Tag("slow")
    @Test
    void aThousandRanksMatch() {
        CollectiveProof.Result result = CollectiveProof.of(config(1024, "num_heads=4", "tensor_parallel=4",
            "context_parallel=4", "global_batch_size=64"));
        assertEquals(Optional.empty(), result.mismatch());
        assertEquals(27, result.roles());
    }

    private static void assertSound(long count, int mostDepth, int most) {
        Random random = new Random(count);
        for (int i = 0; i < count; i++) {
            int tp = 1 << random.nextInt(Integer.numberOfTrailingZeros(most) + 1);
            int cp = 1 + random.nextInt(most);
            int dp = 1 + random.nextInt(most);
            List<String> settings = new ArrayList<>(List.of("num_heads=4",
                "tensor_parallel=" + tp, "context_parallel=" + cp, "depth=" + (1 + random.nextInt(mostDepth)),
                "local_batch_size=" + (1 + random.nextInt(3)), "accumulate_steps=" + (1 + random.nextInt(3)),
                "parallel_order=" + List.of("tp-cp-dp", "dp-cp-tp", "cp-dp-tp").get(random.nextInt(3)),
                "recompute=" + List.of("none", "mlp", "block").get(random.nextInt(3)),
                "amp_mode=" + List.of("none", "bf16", "fp16").get(random.nextInt(3)),
                "on_nan=" + List.of("stop", "skip").get(random.nextInt(2)),
                "dropout=" + List.of("0.0", "0.1").get(random.nextInt(2)),
                "validate_rollout=" + List.of("None", "1", "5").get(random.nextInt(3)),
                "final_rollout=" + List.of("None", "1", "5").get(random.nextInt(3)),
                "noddp=" + (random.nextInt(4) == 0), "keep=" + random.nextInt(3),
                "n_out_channels=" + (1 + random.nextInt(3))));
            CollectiveProof.Result result = CollectiveProof.of(config(tp * cp * dp, settings.toArray(String[]::new)));
            assertEquals(Optional.empty(), result.mismatch(), () -> settings.toString());
            assertTrue(tp * cp * dp == 1 || result.collectives() > 0, settings::toString);
        }
    }
}
