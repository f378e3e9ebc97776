package org.isobar.train.collectives;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.tensor.Tensor;

/** Records what one rank does to its groups. */
public final class TraceRecorder implements RecordingCommunicator.Recorder {
    private final SharedCalls calls;
    private final Map<String, List<Integer>> groups = new LinkedHashMap<>();
    private final List<CollectiveEvent> events = new ArrayList<>();
    private String phase = "start";

    /**
     * Calls, each content once: they hold the sizes of all parts, which would fill the heap, and those of different
     * ranks are then compared by identity. Thread-safe.
     */
    public static final class SharedCalls {
        private final Map<CollectiveCall, CollectiveCall> known = new ConcurrentHashMap<>();

        private CollectiveCall share(CollectiveCall call) {
            return known.computeIfAbsent(call, _ -> call);
        }
    }

    /** Starts recording; {@code calls} may be shared with other recorders. */
    public TraceRecorder(SharedCalls calls) {
        this.calls = calls;
    }

    /** Names the part of the run that begins. */
    public void phase(String name) {
        phase = name;
    }

    @Override
    public void opened(ProcessGroup group) {
        groups.put(group.name(), group.ranks());
        events.add(new CollectiveEvent(group.name(), null, phase, null));
    }

    @Override
    public void issued(ProcessGroup group, CollectiveCall call, Tensor tensor) {
        events.add(new CollectiveEvent(group.name(), calls.share(call), phase, tensor));
    }

    /** What was recorded so far. */
    public RankTrace trace() {
        return new RankTrace(Map.copyOf(groups), List.copyOf(events));
    }
}
