package org.isobar.train.collectives;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.PartSizes;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.tensor.Tensor;

/** Records what one rank does to its groups. */
public final class TraceRecorder implements RecordingCommunicator.Recorder {
    private final SharedParts sizes;
    private final Map<String, List<Integer>> groups = new LinkedHashMap<>();
    private final List<CollectiveEvent> events = new ArrayList<>();
    private String phase = "start";

    /** Sizes of parts, each content once: those of a thousand ranks would fill the heap. Thread-safe. */
    public static final class SharedParts {
        private final Map<PartSizes, PartSizes> known = new ConcurrentHashMap<>();

        private CollectiveCall share(CollectiveCall call) {
            return new CollectiveCall(call.kind(), call.number(), call.dtype(), call.reduction(), call.root(),
                known.computeIfAbsent(call.parts(), parts -> parts));
        }
    }

    /** Starts recording; {@code sizes} may be shared with other recorders. */
    public TraceRecorder(SharedParts sizes) {
        this.sizes = sizes;
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
        events.add(new CollectiveEvent(group.name(), sizes.share(call), phase, tensor));
    }

    /** What was recorded so far. */
    public RankTrace trace() {
        return new RankTrace(Map.copyOf(groups), List.copyOf(events));
    }
}
