package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.config.RunConfig;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.tensor.DType;
import org.isobar.train.DryScenario.Cause;
import org.isobar.train.DryScenario.Event;
import org.isobar.train.collectives.CollectiveEvent;
import org.isobar.train.collectives.RankTrace;
import org.isobar.train.collectives.TraceRecorder;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The collectives that eight training ranks issue are those that the dry run predicts, header by header. */
class CollectiveRealityTest {
    private static final int RANKS = 8;
    private static final List<String> SETTINGS = List.of("tensor_parallel=2", "context_parallel=2", "depth=1",
        "limit_nsamples=" + 2 * DryScenario.STEPS, "limit_nsamples_val=4", "num_iters=" + 2 * DryScenario.STEPS,
        "checkpoint_every=1", "keep=9");

    @TempDir
    private Path directory;

    @Test
    void ranksIssueWhatIsPredicted() throws Exception {
        Path data = directory.resolve("data");
        TinyRun.synthesize(data);
        compare(data, "whole", Event.NONE, 0);
    }

    @Tag("slow")
    @Test
    void ranksThatBranchOrStopIssueWhatIsPredicted() throws Exception {
        Path data = directory.resolve("data");
        TinyRun.synthesize(data);
        ThreadJob whole = compare(data, "whole", Event.NONE, 0);
        compare(data, "branch", Event.BRANCHED, 0, "resume=" + whole.directory().resolve("checkpoints/checkpoint-1"));
        compare(data, "stopped", Event.STOPPED_IN_VALIDATION, RunContext.INTERRUPTED);
    }

    private ThreadJob compare(Path data, String logs, Event event, int code, String... more) throws Exception {
        String[] settings = Stream.concat(SETTINGS.stream(), Stream.of(more)).toArray(String[]::new);
        List<TraceRecorder> recorders =
            IntStream.range(0, RANKS).mapToObj(_ -> new TraceRecorder(new TraceRecorder.SharedParts())).toList();
        List<StopRequest> requests = new ArrayList<>(Collections.nCopies(RANKS, StopRequest.NONE));
        if (event == Event.STOPPED_IN_VALIDATION) {
            requests.set(5, new LaterStop(DryScenario.STEPS));
        }
        ThreadJob job = ThreadJob.of(data, directory.resolve(logs), requests,
            rank -> real -> new RecordingCommunicator(real, recorders.get(rank)), settings).ended(code);
        RunConfig config = TinyRun.config(data, directory, Map.of("RANK", "0", "LOCAL_RANK", "0", "WORLD_SIZE",
            String.valueOf(RANKS), "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "29500"), settings);
        try (CollectiveRehearsal rehearsal =
            new CollectiveRehearsal(config, DType.F32, CollectiveRehearsal.Length.DEFAULT)) {
            for (int rank = 0; rank < RANKS; rank++) {
                RankTrace predicted = rehearsal.record(rank, event, Cause.PEER).trace();
                RankTrace issued = recorders.get(rank).trace();
                assertEquals(predicted.groups(), issued.groups());
                assertEquals(headers(predicted), headers(issued), "rank " + rank + ", " + event);
            }
        }
        return job;
    }

    private static List<String> headers(RankTrace trace) {
        return trace.events().stream().map(CollectiveRealityTest::header).toList();
    }

    private static String header(CollectiveEvent event) {
        return event.group() + ": " + (event.opens() ? "open" : event.call() + " "
            + HexFormat.of().formatHex(event.call().header().array()));
    }

    /** Requests a stop after a number of polls. */
    private static final class LaterStop implements StopRequest {
        private int polls;

        LaterStop(int polls) {
            this.polls = polls;
        }

        @Override
        public void arm() { }

        @Override
        public boolean isRequested() {
            return polls-- <= 0;
        }
    }
}
