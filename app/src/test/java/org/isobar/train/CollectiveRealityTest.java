package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.RunConfig;
import org.isobar.data.DistributedSampler;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.tensor.DType;
import org.isobar.train.CollectiveRehearsal.Length;
import org.isobar.train.DryScenario.Cause;
import org.isobar.train.DryScenario.Event;
import org.isobar.train.collectives.RankTrace;
import org.isobar.train.collectives.TraceRecorder;
import org.isobar.train.saving.Resumption;
import org.isobar.train.saving.StopAfterPolls;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The collectives that eight training ranks issue are those that the dry run predicts, header by header. */
class CollectiveRealityTest {
    private static final int RANKS = 8;
    private static final int REPLICAS = 2;
    private static final int SAMPLES = 2 * DryScenario.STEPS;
    private static final List<String> SETTINGS = List.of("tensor_parallel=2", "context_parallel=2", "depth=1",
        "limit_nsamples=" + SAMPLES, "limit_nsamples_val=4", "keep=9");
    private static final String TWO_EPOCHS = "num_iters=" + 2 * DryScenario.STEPS;
    private static final String ONE_EPOCH = "num_iters=" + DryScenario.STEPS;
    private static final String SAVE_EACH_STEP = "checkpoint_every=1";

    @TempDir
    private Path directory;
    private Path data;

    @BeforeEach
    void synthesize() {
        data = directory.resolve("data");
        TinyRun.synthesize(data);
    }

    @Test
    void ranksIssueWhatIsPredicted() throws Exception {
        List<String> settings = List.of(TWO_EPOCHS, SAVE_EACH_STEP, "validate_rollout=2", "final_rollout=2");
        compare("whole", Event.NONE, new Length(2, 2, TinyRun.STEPS - 2), settings, List.of()).ended(0);
    }

    /** The target of one replica's sample of the second step is not finite. */
    @Test
    void ranksThatStopAtALossWhichIsNotFiniteIssueWhatIsPredicted() throws Exception {
        compare("stop", Event.NON_FINITE, new Length(1, 2, 2), List.of(ONE_EPOCH, spoiled()), List.of()).ended(2);
    }

    @Tag("slow")
    @Test
    void ranksThatSkipALossWhichIsNotFiniteIssueWhatIsPredicted() throws Exception {
        compare("skip", Event.NON_FINITE, new Length(1, 2, 2), List.of(ONE_EPOCH, "on_nan=skip", spoiled()), List.of())
            .ended(0);
    }

    /** Rank 0 requests a checkpoint during the first step, and rank 5 a stop during the second. */
    @Tag("slow")
    @Test
    void ranksThatStopInAStepIssueWhatIsPredicted() throws Exception {
        List<StopRequest> requests = stopAfter(1);
        Path run = TinyRun.jobConfig(data, directory.resolve("stopped"), RANKS, SETTINGS.toArray(String[]::new))
            .output().experimentDirectory();
        requests.set(0, StopAfterPolls.waitingFor(Resumption.folder(run).resolve("checkpoint-0")));
        compare("stopped", Event.STOPPED_IN_STEP, Length.DEFAULT, List.of(TWO_EPOCHS, "checkpoint_minutes=1e-6"),
            requests).ended(RunContext.INTERRUPTED);
    }

    @Tag("slow")
    @Test
    void ranksThatStopInValidationIssueWhatIsPredicted() throws Exception {
        compare("stopped", Event.STOPPED_IN_VALIDATION, Length.DEFAULT, List.of(TWO_EPOCHS, SAVE_EACH_STEP),
            stopAfter(DryScenario.STEPS)).ended(RunContext.INTERRUPTED);
    }

    @Tag("slow")
    @Test
    void ranksThatResumeIssueWhatIsPredicted() throws Exception {
        String[] first = Stream.concat(SETTINGS.stream(), Stream.of(TWO_EPOCHS, SAVE_EACH_STEP)).toArray(String[]::new);
        ThreadJob stopped = ThreadJob.of(data, directory.resolve("run"), stopAfter(0), first)
            .ended(RunContext.INTERRUPTED);
        Path checkpoint = stopped.directory().resolve("checkpoints/checkpoint-1");
        compare("branch", Event.BRANCHED, Length.DEFAULT, List.of(TWO_EPOCHS, "resume=" + checkpoint), List.of())
            .ended(0);
        compare("run", Event.RESUMED, Length.DEFAULT, List.of(TWO_EPOCHS, SAVE_EACH_STEP, "resume=auto"), List.of())
            .ended(0);
    }

    /** Spoils the last sample; returns a seed with which it is in the second step of the first epoch. */
    private String spoiled() throws IOException {
        InputDamage.setValue(data.resolve("tiny/train/1979.h5"), SAMPLES, 1, 3, 4, Float.NaN); // its target only
        long seed = 0;
        while (IntStream.range(0, REPLICAS).noneMatch(new SecondSample(seed)::isLast)) {
            seed++;
        }
        return "seed=" + seed;
    }

    private record SecondSample(long seed) {
        boolean isLast(int replica) {
            return new DistributedSampler(SAMPLES, REPLICAS, REPLICAS, replica, true, seed).epoch(0)[1] == SAMPLES - 1;
        }
    }

    /** The stop requests of all ranks: rank 5 requests a stop after a number of polls. */
    private static List<StopRequest> stopAfter(int polls) {
        List<StopRequest> requests = new ArrayList<>(Collections.nCopies(RANKS, StopRequest.NONE));
        requests.set(5, StopAfterPolls.from(polls + 1));
        return requests;
    }

    private ThreadJob compare(String logs, Event event, Length length, List<String> more, List<StopRequest> requests)
        throws Exception {
        String[] settings = Stream.concat(SETTINGS.stream(), more.stream()).toArray(String[]::new);
        List<TraceRecorder> recorders =
            IntStream.range(0, RANKS).mapToObj(_ -> new TraceRecorder(new TraceRecorder.SharedCalls())).toList();
        ThreadJob job = ThreadJob.of(data, directory.resolve(logs),
            requests.isEmpty() ? Collections.nCopies(RANKS, StopRequest.NONE) : requests,
            rank -> real -> new RecordingCommunicator(real, recorders.get(rank)), settings);
        RunConfig config = TinyRun.jobConfig(data, directory, RANKS, settings);
        try (CollectiveRehearsal rehearsal = new CollectiveRehearsal(config, DType.F32, length)) {
            for (int rank = 0; rank < RANKS; rank++) {
                RankTrace predicted = rehearsal.record(rank, event, Cause.PEER).trace();
                RankTrace issued = recorders.get(rank).trace();
                assertEquals(predicted.groups(), issued.groups());
                assertEquals(RecordingRank.headers(predicted), RecordingRank.headers(issued),
                    "rank " + rank + ", " + event + job.screen());
            }
        }
        return job;
    }

    /** Eight processes, each with the first case of this class. */
    @Tag("slow")
    @Test
    void processesIssueWhatIsPredicted() throws Exception {
        String[] settings = Stream.concat(SETTINGS.stream(), Stream.of(TWO_EPOCHS, SAVE_EACH_STEP))
            .toArray(String[]::new);
        Path logs = directory.resolve("processes");
        List<String> arguments = new ArrayList<>(List.of(data.toString(), logs.toString()));
        arguments.addAll(List.of(settings));
        try (ProcessJob job = new ProcessJob(data, directory)) {
            for (int rank = 0; rank < RANKS; rank++) {
                job.startMain(RecordingRank.class.getName(), rank, Map.of("WORLD_SIZE", String.valueOf(RANKS),
                    RecordingRank.HEADERS, directory.toString()), arguments);
            }
            for (int rank = 0; rank < RANKS; rank++) {
                assertEquals(0, job.code(rank), job.screens());
            }
        }
        RunConfig config = TinyRun.jobConfig(data, logs, RANKS, settings);
        try (CollectiveRehearsal rehearsal = new CollectiveRehearsal(config, DType.F32, Length.DEFAULT)) {
            for (int rank = 0; rank < RANKS; rank++) {
                assertEquals(RecordingRank.headers(rehearsal.record(rank, Event.NONE, Cause.PEER).trace()),
                    Files.readAllLines(RecordingRank.headers(directory, rank)), "rank " + rank);
            }
        }
    }
}
