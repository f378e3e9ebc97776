package org.isobar.train.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.config.keys.StepRange;
import org.junit.jupiter.api.Test;

/** Tests how the timelines of ranks with different clocks are merged. */
class ChromeTraceTest {
    private static final long APART = 7_000_000_000L; // between the clocks, in nanoseconds

    @Test
    void clocksAreAligned() throws IOException {
        RankTimeline first = rank(0, 0, 3000, 5000);
        RankTimeline second = rank(1, APART, 9000, 9500);
        JsonNode trace = new JsonMapper().readTree(new ChromeTrace(List.of(first, second), new StepRange(1, 2)).json());
        List<JsonNode> calls = new ArrayList<>();
        for (JsonNode event : trace.get("traceEvents")) {
            if (event.has("args") && event.get("args").has("bytes")) {
                calls.add(event);
            }
        }
        assertEquals(2, calls.size());
        assertEquals(2.0, calls.get(0).get("ts").asDouble(), "microseconds after the first barrier");
        assertEquals(8.0, calls.get(1).get("ts").asDouble());
        assertEquals(1, calls.get(0).at("/args/waited_for_rank").asInt());
        assertEquals(4.0, calls.get(0).at("/args/waited_for_us").asDouble(), "from 5000 ns until 9000 ns");
        assertFalse(calls.get(1).get("args").has("waited_for_rank"), "it was the last");
        assertEquals(-APART / 1e3, trace.at("/otherData/clock_shift_us/1").asDouble());
        assertEquals(0.05, trace.at("/otherData/clock_spread_us/1").asDouble());
        assertEquals("1-2", trace.at("/otherData/steps").asText());
    }

    /** A rank that leaves barriers at 1000, 2000 and 3000 ns; rank 1 leaves the last two 50 ns earlier and later. */
    private static RankTimeline rank(int rank, long clock, long issued, long awaited) {
        long[] barriers = {clock + 1000, clock + 2000 - 50 * rank, clock + 3000 + 50 * rank};
        return new RankTimeline(rank, barriers, false, List.of(), List.of(new RankTimeline.Exchange("tp", "tp 0/2",
            "all_reduce", 4, false, 64, clock + issued, clock + awaited, clock + 10_000)));
    }
}
