package org.isobar.backend.cuda.cudnn;

import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_ENGINECFG_ENGINE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_ENGINEHEUR_MODE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_ENGINEHEUR_RESULTS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_ENGINE_NUMERICAL_NOTE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATIONGRAPH_HANDLE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_OPERATIONGRAPH_OPS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_ATTR_VARIANT_PACK_WORKSPACE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_ENGINE_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_HEUR_MODE_A;
import static org.bytedeco.cuda.global.cudnn.CUDNN_HEUR_MODE_FALLBACK;
import static org.bytedeco.cuda.global.cudnn.CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
import static org.bytedeco.cuda.global.cudnn.CUDNN_NUMERICAL_NOTE_TYPE_COUNT;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_HANDLE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_HEUR_MODE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_NUMERICAL_NOTE;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_VOID_PTR;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;

/**
 * How cuDNN computes one operation of attention: its execution plan, made once for a shape. Heuristic A proposes
 * engine configurations, fastest first, and the fallback heuristic adds others; the first that cuDNN can make a plan of
 * is taken.
 */
final class SdpaPlan implements AutoCloseable {
    /** What a plan depends on. */
    record Key(SdpaDirection direction, DType dtype, AttentionShape shape) { }

    /** Which engines may be taken. */
    enum Engines {
        /** Those that give the same bits at each call. */
        DETERMINISTIC,
        /** All. */
        ANY
    }

    private final CudnnCalls calls;
    private final Key key;
    private final CudnnDescriptor.Owner owner;
    private final Arena numbers = Arena.ofShared();
    private final MemorySegment scale;
    private final CudnnDescriptor plan;
    private final long workspaceBytes;

    /**
     * Makes a plan.
     *
     * @param handle a {@code cudnnHandle_t}
     * @throws CudaException if cuDNN has no plan for this key; the message has the reason
     */
    SdpaPlan(CudnnCalls calls, MemorySegment handle, Key key, Engines engines) {
        this.calls = calls;
        this.key = key;
        owner = new CudnnDescriptor.Owner(calls);
        scale = numbers.allocateFrom(ValueLayout.JAVA_FLOAT, (float) key.shape.scale());
        try {
            plan = choose(handle, graph(handle), engines);
            workspaceBytes = plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
        } catch (RuntimeException failure) {
            close();
            throw failure;
        }
    }

    /** Bytes of workspace that {@link #execute} uses. */
    long workspaceBytes() {
        return workspaceBytes;
    }

    /** The graph of the one operation. */
    private CudnnDescriptor graph(MemorySegment handle) {
        CudnnDescriptor operation = owner.create(key.direction.descriptor(), "attention " + key.direction);
        for (SdpaDirection.Operand operand : key.direction.operands()) {
            operation.descriptor(operand.attribute(), operand.tensor().describe(owner, key.dtype, key.shape));
        }
        operation.complete();
        return owner.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph of attention " + key.direction)
            .descriptor(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
            .pointers(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle).complete();
    }

    private CudnnDescriptor choose(MemorySegment handle, CudnnDescriptor graph, Engines engines) {
        String refusal = "no engine" + (engines == Engines.DETERMINISTIC ? " that is deterministic" : "");
        for (int mode : new int[] {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
            for (CudnnDescriptor configuration : configurations(graph, mode)) {
                if (engines == Engines.DETERMINISTIC && !isDeterministic(configuration)) {
                    continue;
                }
                try {
                    return owner.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan")
                        .pointers(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
                        .descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).complete();
                } catch (CudaException unsupported) { // the next configuration may do
                    refusal = unsupported.getMessage();
                }
            }
        }
        throw new CudaException(refusal);
    }

    private List<CudnnDescriptor> configurations(CudnnDescriptor graph, int mode) {
        CudnnDescriptor heuristic = owner.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "engine heuristic")
            .descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
            .value(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode).complete();
        List<CudnnDescriptor> empty = IntStream.range(0, heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS))
            .mapToObj(_ -> owner.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration")).toList();
        return heuristic.fill(CUDNN_ATTR_ENGINEHEUR_RESULTS, empty);
    }

    private boolean isDeterministic(CudnnDescriptor configuration) {
        CudnnDescriptor engine = owner.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine");
        configuration.fill(CUDNN_ATTR_ENGINECFG_ENGINE, List.of(engine));
        return !engine.values(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
            CUDNN_NUMERICAL_NOTE_TYPE_COUNT).contains(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    }

    /**
     * Issues the operation to the handle's stream.
     *
     * @param addresses of the tensors in device memory, all but the scale
     * @param workspace address of {@link #workspaceBytes} bytes of device memory
     * @throws CudaException if cuDNN refuses the call
     */
    void execute(MemorySegment handle, Map<SdpaTensor, Long> addresses, long workspace) {
        List<SdpaTensor> tensors = key.direction.operands().stream().map(SdpaDirection.Operand::tensor).toList();
        try (CudnnDescriptor.Owner temporary = new CudnnDescriptor.Owner(calls)) {
            CudnnDescriptor pack = temporary.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack")
                .integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors.stream().mapToLong(SdpaTensor::id).toArray())
                .pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, tensors.stream()
                    .map(tensor -> tensor == SdpaTensor.SCALE ? scale : MemorySegment.ofAddress(addresses.get(tensor)))
                    .toArray(MemorySegment[]::new))
                .pointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, MemorySegment.ofAddress(workspace))
                .complete();
            CudnnDescriptor.check(calls, calls.execute(handle, plan.handle(), pack.handle()), "cudnnBackendExecute of "
                + key);
        }
    }

    @Override
    public void close() {
        owner.close();
        numbers.close();
    }
}
