package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.checkpoint.Checkpoint;
import org.isobar.train.ProcessJob;
import org.isobar.train.RunContext;
import org.isobar.train.ThreadJob;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs resumed in another layout have the next loss of the undisturbed run. */
@Execution(ExecutionMode.CONCURRENT)
class ResumeLayoutsTest {
    private static final double TOLERANCE = 1e-6; // relative
    private static final int STOP = TinyRun.STEPS - 1; // the next step is the last of its epoch
    /** From a layout to those that it is resumed from, by the order of layouts. */
    private static final Set<Integer> DISTANCES = Set.of(0, 1, 3, 6);
    private static final List<String> RUN = List.of("num_heads=4", "num_iters=" + TinyRun.STEPS, "lr_schedule=none",
        "checkpoint_every=" + STOP, "keep=9");

    @TempDir
    private static Path data;
    private static double undisturbed; // loss of the step after STOP
    private static double validation; // loss at the end of the epoch
    private static final Map<Layout, Path> CHECKPOINTS = new EnumMap<>(Layout.class);

    @TempDir
    private Path directory;

    /** A parallel layout. */
    private enum Layout {
        ONE(1), TP2(2, "tensor_parallel=2"), CP2(2, "context_parallel=2"), DP2(2),
        TP2_CP2(4, "tensor_parallel=2", "context_parallel=2"), TP2_DP2(4, "tensor_parallel=2"),
        TP4(4, "tensor_parallel=4"), CP4(4, "context_parallel=4");

        private final int ranks;
        private final List<String> settings;

        Layout(int ranks, String... settings) {
            this.ranks = ranks;
            this.settings = List.of(settings);
        }

        /** Trains in this layout, with ranks as threads, until the stop request of the last rank at that poll. */
        private ThreadJob train(Path logs, int look, String... more) throws Exception {
            List<StopRequest> ask = new ArrayList<>(Collections.nCopies(ranks, StopRequest.NONE));
            ask.set(ranks - 1, StopAfterPolls.from(look));
            return ThreadJob.of(data, logs, ask, with(more)).ended(RunContext.INTERRUPTED);
        }

        private String[] with(String... more) {
            return Stream.of(RUN.stream(), settings.stream(), Stream.of(more)).flatMap(UnaryOperator.identity())
                .toArray(String[]::new);
        }

        /** The layout as command-line options. */
        private String[] options(String... more) {
            return Arrays.stream(with(more)).map(setting -> "--set=" + setting).toArray(String[]::new);
        }
    }

    @BeforeAll
    static void train() throws Exception {
        TinyRun.synthesize(data);
        Path whole = Layout.ONE.train(data.resolve("undisturbed"), TinyRun.STEPS).directory();
        undisturbed = lossSum(whole, TinyRun.STEPS) - lossSum(whole, STOP);
        validation = validation(TinyRun.of(data, data.resolve("to the end"), Layout.ONE.with()).succeeded()
            .directory());
        for (Layout layout : Layout.values()) {
            CHECKPOINTS.put(layout, checkpoint(layout.train(data.resolve(layout.name()), STOP - 1).directory(), STOP));
        }
    }

    private static Path checkpoint(Path run, int iteration) {
        return Resumption.folder(run).resolve("checkpoint-" + iteration);
    }

    /** Covers the steps of the epoch so far. */
    private static double lossSum(Path run, int iteration) {
        try (Checkpoint checkpoint = Checkpoint.open(checkpoint(run, iteration))) {
            TrainingState state = checkpoint.state(TrainingState.class, Map.of());
            assertEquals(iteration, state.losses());
            return state.lossSum();
        }
    }

    private static double validation(Path run) throws IOException {
        return ProcessJob.losses(run).get("Avg val loss=").getLast();
    }

    /**
     * Resumes in this layout from the checkpoints of itself and three others: of each layout four times in all, and of
     * each degree of tensor parallelism in each.
     */
    @ParameterizedTest
    @EnumSource
    void nextLossAgreesWithTheUndisturbedRun(Layout to) throws Exception {
        nextLossAgrees(to, distance -> DISTANCES.contains(distance));
    }

    /** Resumes in this layout from the checkpoints of the other layouts. */
    @Tag("slow")
    @ParameterizedTest
    @EnumSource
    void nextLossAgreesFromAllOtherLayouts(Layout to) throws Exception {
        nextLossAgrees(to, distance -> !DISTANCES.contains(distance));
    }

    private void nextLossAgrees(Layout to, IntPredicate distances) throws Exception {
        int count = Layout.values().length;
        for (int distance : IntStream.range(0, count).filter(distances).toArray()) {
            Layout from = Layout.values()[(to.ordinal() + distance) % count];
            Path run = to.train(directory.resolve(from.name()), 1, "resume=" + CHECKPOINTS.get(from)).directory();
            double before = lossSum(CHECKPOINTS.get(from).getParent().getParent(), STOP);
            assertEquals(undisturbed, lossSum(run, TinyRun.STEPS) - before, TOLERANCE * undisturbed,
                "from " + from + " to " + to);
        }
    }

    /** The validation loss after the next step depends on weights and moments. */
    @ParameterizedTest
    @CsvSource({"TP2_CP2, ONE", "CP4, TP2", "TP4, CP2", "ONE, DP2", "DP2, TP2_CP2", "TP2, TP2_DP2", "CP2, TP4",
        "TP2_DP2, CP4"})
    void nextStepAgreesWithTheUndisturbedRun(Layout from, Layout to) throws Exception {
        ThreadJob job = ThreadJob.of(data, directory, to.ranks, to.with("resume=" + CHECKPOINTS.get(from))).ended(0);
        assertEquals(validation, validation(job.directory()), TOLERANCE * validation);
    }

    @ParameterizedTest
    @CsvSource({"TP2_CP2, TP2_DP2"})
    void processesResumeInAnotherLayout(Layout from, Layout to) throws Exception {
        ProcessJob job = ProcessJob.run(data, Files.createDirectory(directory.resolve("to")), to.ranks,
            to.options("resume=" + CHECKPOINTS.get(from)));
        assertEquals(validation, validation(job.directory()), TOLERANCE * validation);
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"ONE, TP2", "TP2, CP2", "CP2, DP2", "DP2, TP4", "TP4, CP4", "CP4, TP2_CP2", "TP2_DP2, ONE",
        "TP4, TP2_DP2"})
    void processesResumeInMoreLayouts(Layout from, Layout to) throws Exception {
        processesResumeInAnotherLayout(from, to);
    }
}
