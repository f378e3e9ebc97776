package org.isobar.backend.cuda.cudnn;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_STATUS_SUCCESS;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongUnaryOperator;

import org.isobar.backend.cuda.cudnn.SdpaPlan.Engines;
import org.isobar.backend.cuda.driver.CudaComponent;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.CudaStream;
import org.isobar.backend.cuda.driver.SystemLibrary;
import org.isobar.device.ops.AttentionShape;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Attention by cuDNN on one stream, without dropout, in half precision. {@link #prepare} makes the plans of a shape;
 * after that, calls allocate no device memory.
 *
 * <p>cuDNN's statistics are those of {@link org.isobar.device.ops.AttentionOps}: the natural logarithm of the sum of
 * exponentials of the scaled scores. So the backward pass of either engine can follow the forward pass of the other.
 */
public final class CudnnAttention implements AutoCloseable {
    private static final int MOST_CHANNELS = 128;
    private static final int CHANNELS_MULTIPLE = 8;

    private final CudnnCalls calls;
    private final Engines engines;
    private final LongUnaryOperator workspace;
    private final MemorySegment handle;
    private final Map<SdpaPlan.Key, SdpaPlan> plans = new HashMap<>();
    private final Map<SdpaPlan.Key, String> refusals = new HashMap<>();

    CudnnAttention(CudnnCalls calls, CudaStream stream, Engines engines, LongUnaryOperator workspace) {
        this.calls = calls;
        this.engines = engines;
        this.workspace = workspace;
        if (calls.version() < CudaComponent.OLDEST_CUDNN) {
            throw new CudaException("cuDNN " + version() + " is older than "
                + CudaComponent.dotted(CudaComponent.OLDEST_CUDNN));
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment made = arena.allocate(ADDRESS);
            CudnnDescriptor.check(calls, calls.createHandle(made), "cudnnCreate");
            handle = made.get(ADDRESS, 0);
        }
        int status = calls.setStream(handle, MemorySegment.ofAddress(stream.handle().address()));
        if (status != CUDNN_STATUS_SUCCESS) {
            calls.destroyHandle(handle);
        }
        CudnnDescriptor.check(calls, status, "cudnnSetStream");
    }

    /**
     * Opens cuDNN.
     *
     * @param stream        stream of the operations
     * @param deterministic whether only engines are taken that give the same bits at each call
     * @param workspace     returns the address of as many bytes of device memory, aligned to 256
     * @throws CudaException if the library is too old or does not start
     */
    public static CudnnAttention open(SystemLibrary library, CudaStream stream, boolean deterministic,
        LongUnaryOperator workspace) {
        return new CudnnAttention(new NativeCudnn(library), stream,
            deterministic ? Engines.DETERMINISTIC : Engines.ANY, workspace);
    }

    /** "9.19.0". */
    public String version() {
        return CudaComponent.dotted(calls.version());
    }

    /**
     * Makes the plans of both directions, or of the forward pass alone: see {@link #backwardRefusal}.
     *
     * @return why cuDNN cannot compute the forward pass of this shape and type; empty if it can
     */
    public Optional<String> prepare(AttentionShape shape, DType dtype) {
        if (dtype != DType.F16 && dtype != DType.BF16) {
            return Optional.of("cuDNN has no attention in " + dtype + ": it needs --amp_mode bf16 or fp16");
        }
        if (shape.headDim() % CHANNELS_MULTIPLE != 0 || shape.headDim() > MOST_CHANNELS) {
            return Optional.of("cuDNN needs heads of a multiple of " + CHANNELS_MULTIPLE + " channels up to "
                + MOST_CHANNELS + ", and these have " + shape.headDim());
        }
        Optional<String> refusal = plan(new SdpaPlan.Key(SdpaDirection.FORWARD, dtype, shape));
        if (refusal.isEmpty()) {
            plan(new SdpaPlan.Key(SdpaDirection.BACKWARD, dtype, shape));
        }
        return refusal;
    }

    /** Makes the plan of one direction; returns why there is none. */
    private Optional<String> plan(SdpaPlan.Key key) {
        if (!plans.containsKey(key) && !refusals.containsKey(key)) {
            try {
                plans.put(key, new SdpaPlan(calls, handle, key, engines));
            } catch (CudaException refused) {
                refusals.put(key, "cuDNN " + version() + " refuses " + key.shape() + " in " + key.dtype() + ": "
                    + refused.getMessage());
            }
        }
        return Optional.ofNullable(refusals.get(key));
    }

    /** Whether {@link #prepare} has made the plan of the forward pass of this shape and type. */
    public boolean isPrepared(AttentionShape shape, DType dtype) {
        return plans.containsKey(new SdpaPlan.Key(SdpaDirection.FORWARD, dtype, shape));
    }

    /** Whether {@link #prepare} has made the plan of the backward pass, too. */
    public boolean isPreparedBackward(AttentionShape shape, DType dtype) {
        return plans.containsKey(new SdpaPlan.Key(SdpaDirection.BACKWARD, dtype, shape));
    }

    /** Why the backward pass of a shape that has been prepared in this type has no plan; empty if all have one. */
    public Optional<String> backwardRefusal(DType dtype) {
        return refusals.entrySet().stream().filter(refusal -> refusal.getKey().direction() == SdpaDirection.BACKWARD
            && refusal.getKey().dtype() == dtype).map(Map.Entry::getValue).min(Comparator.naturalOrder());
    }

    /** Bytes of workspace that the plans so far need. */
    public long workspaceBytes() {
        return plans.values().stream().mapToLong(SdpaPlan::workspaceBytes).max().orElse(0);
    }

    /** {@link org.isobar.device.ops.AttentionOps#attention} of a prepared shape, on tensors aligned to 16 bytes. */
    public void forward(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape) {
        Map<SdpaTensor, Long> addresses = inputs(q, kv, out, lse, shape);
        execute(new SdpaPlan.Key(SdpaDirection.FORWARD, q.dtype(), shape), addresses);
    }

    /** {@link org.isobar.device.ops.AttentionOps#attentionBackward}, likewise. */
    public void backward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape) {
        Map<SdpaTensor, Long> addresses = inputs(q, kv, out, lse, shape);
        addresses.put(SdpaTensor.D_O, dOut.address());
        addresses.put(SdpaTensor.D_Q, dq.address());
        for (SdpaTensor part : new SdpaTensor[] {SdpaTensor.D_K, SdpaTensor.D_V}) {
            addresses.put(part, part.within(dkv.address(), dkv.dtype(), shape));
        }
        execute(new SdpaPlan.Key(SdpaDirection.BACKWARD, q.dtype(), shape), addresses);
    }

    private static Map<SdpaTensor, Long> inputs(Tensor q, Tensor kv, Tensor out, Tensor lse, AttentionShape shape) {
        Map<SdpaTensor, Long> addresses = new EnumMap<>(SdpaTensor.class);
        addresses.put(SdpaTensor.Q, q.address());
        addresses.put(SdpaTensor.O, out.address());
        addresses.put(SdpaTensor.STATISTICS, lse.address());
        for (SdpaTensor part : new SdpaTensor[] {SdpaTensor.K, SdpaTensor.V}) {
            addresses.put(part, part.within(kv.address(), kv.dtype(), shape));
        }
        return addresses;
    }

    private void execute(SdpaPlan.Key key, Map<SdpaTensor, Long> addresses) {
        SdpaPlan plan = plans.get(key);
        if (plan == null) {
            throw new CudaException(refusals.getOrDefault(key, "attention of " + key + " is not prepared"));
        }
        long bytes = plan.workspaceBytes();
        plan.execute(handle, addresses, bytes == 0 ? 0 : workspace.applyAsLong(bytes));
    }

    @Override
    public void close() {
        plans.values().forEach(SdpaPlan::close);
        plans.clear();
        calls.destroyHandle(handle);
    }
}
