package org.isobar.train.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the trace of a GPU: its operations are timed by events, one after the other, although the run has graphs. */
@Tag("cuda")
class CudaStepTraceTest {
    @TempDir
    private Path data;

    @Test
    void operationsAreTimedByEvents() throws IOException {
        TinyRun.synthesize(data);
        TinyRun run = TinyRun.of(data, data.resolve("logs"), "device=cuda", "enable_cuda_graphs=true",
            "enable_fused=true", "num_iters=12",
            "limit_nsamples_val=2", "trace=2-3").succeeded();
        assertTrue(run.log().contains("--trace: steps are issued operation by operation, not as graphs"), run.log());
        assertTrue(run.log().contains("Trace of steps 2-3: "), run.log());
        JsonNode trace = new JsonMapper().readTree(run.directory().resolve("trace.json").toFile());
        List<JsonNode> operations = new ArrayList<>();
        double end = 0; // of the steps on the host, which waits for the device after the last
        for (JsonNode event : trace.get("traceEvents")) {
            if (event.get("ph").asText().equals("X") && event.get("tid").asInt() == 3) {
                operations.add(event);
            } else if (event.get("ph").asText().equals("X")) {
                end = Math.max(end, event.get("ts").asDouble() + event.get("dur").asDouble());
            }
        }
        assertEquals(2, operations.stream().filter(event -> event.get("name").asText().equals("adam")).count());
        assertTrue(operations.stream().anyMatch(event -> event.get("dur").asDouble() > 0));
        double last = 0;
        for (JsonNode operation : operations) {
            assertTrue(operation.get("ts").asDouble() >= last - 1e-3, operation::toString);
            last = operation.get("ts").asDouble() + operation.get("dur").asDouble();
        }
        assertTrue(last <= end + 1000, last + " " + end);
    }
}
