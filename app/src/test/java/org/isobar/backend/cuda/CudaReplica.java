package org.isobar.backend.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.isobar.device.HostBuffer;
import org.isobar.device.Span;
import org.isobar.distributed.Communicators;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.BatchLoss;
import org.isobar.train.GradientSync;
import org.isobar.train.MemoryPlan;
import org.isobar.train.Replica;
import org.isobar.vit.VitConfig;

/** A small model on the first GPU, whose batches come by way of the host as in a run. */
final class CudaReplica implements AutoCloseable {
    static final VitConfig MODEL = new VitConfig(24, 40, 8, 3, 2, 32, 2, 2, 128, 0);
    private static final int BATCH = 2;
    private static final int SEED = 5;
    private static final int SLOTS = 3;

    private final CudaDevice device = CudaFixture.device();
    private final Replica.Memory memory;
    private final Replica replica;
    private final List<Slot> slots;
    private int steps;

    /** Where the host puts a batch; its next must wait until it has been copied. */
    private record Slot(HostBuffer input, HostBuffer target) { }

    CudaReplica(DType compute, GradScaler scaler, Replica.Steps mode) {
        MemoryPlan plan = MemoryPlan.of(MODEL, BATCH, compute);
        device.reserve(plan.footprint());
        memory = Replica.Memory.of(device, plan);
        replica = new Replica(device, MODEL, BATCH, memory, Communicators.alone(device.ops()::copy),
            new Replica.Options(compute, new Adam.Options(scaler, Adam.Launch.ONCE), GradientSync.Options.DEFAULT,
                mode));
        replica.initialize(SEED);
        slots = Stream.generate(() -> new Slot(device.hostBuffer(DType.F32, Shape.of(BATCH, 3, 24, 40)),
            device.hostBuffer(DType.F32, Shape.of(BATCH, 2, 24, 40)))).limit(SLOTS).toList();
    }

    CudaDevice device() {
        return device;
    }

    Replica replica() {
        return replica;
    }

    /** The next step, on a batch that no other step has. */
    Supplier<BatchLoss> issue(double learningRate) {
        Slot slot = slots.get(steps % SLOTS);
        fill(slot.input, "input");
        fill(slot.target, "target");
        Supplier<BatchLoss> loss = replica.issue(slot.input.toDevice(), slot.target.toDevice(),
            new Replica.StepContext(SEED, steps, Span.whole(BATCH), learningRate));
        slot.input.release();
        slot.target.release();
        steps++;
        return loss;
    }

    private void fill(HostBuffer buffer, String what) {
        Philox.Key key = Philox.Key.of(SEED, what).at(steps);
        MemorySegment host = buffer.segment();
        for (long i = 0; i < host.byteSize() / Float.BYTES; i++) {
            host.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) Philox.normal(key, i));
        }
    }

    float[] weights() {
        Tensor values = replica.parameters().values();
        return CudaFixture.values(device, values);
    }

    @Override
    public void close() {
        replica.close();
        slots.forEach(slot -> {
            slot.input.close();
            slot.target.close();
        });
        memory.close();
        device.close();
    }
}
