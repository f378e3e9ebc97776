package org.isobar.plan.calibrate;

import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

import org.isobar.config.ConfigRequest;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.Reduction;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.tensor.Tensor;

/**
 * Times of collectives by operation and bytes: all-reduces in the place of those of a training step with tensor
 * parallelism, all-gathers and reduce-scatters in the place of those of a step with context parallelism.
 */
public final class CollectiveCalibration implements RepeatedMeasurement, AutoCloseable {
    private static final ModelSizes MODEL = new ModelSizes(256, 6, 8, 2);
    private static final List<Long> BYTES = List.of(1L << 18, 1L << 20, 1L << 22);
    /** Bytes of an all-reduce of gradients. */
    private static final long GRADIENTS = 1 << 24;

    private final DeviceArena arena;
    private final ReplacedCollectives reductions;
    private final ReplacedCollectives exchanges;

    /**
     * Prepares the measurement of all ranks of a job.
     *
     * @param preset any preset that is trained with synthetic data, with this rank's environment
     */
    public CollectiveCalibration(Device device, Communicators job, ConfigRequest preset) {
        this(device, job, preset, MODEL, BYTES, GRADIENTS);
    }

    /** Replaces the collectives of {@code model} by those of {@code bytes}, all-reduces also by {@code gradients}. */
    CollectiveCalibration(Device device, Communicators job, ConfigRequest preset, ModelSizes model, List<Long> bytes,
        long gradients) {
        arena = device.arena("collectives", gradients);
        Tensor values = arena.f32(gradients / Float.BYTES);
        device.ops().memory().fill(values, 0);
        Function<Long, Tensor> first = size -> values.slice(0, size / Float.BYTES);
        reductions = new ReplacedCollectives(device, job, model.in(preset), Axis.TP,
            Stream.concat(bytes.stream(), Stream.of(gradients)).map(first).map(CollectiveCalibration::reduction)
                .toList());
        exchanges = new ReplacedCollectives(device, job, model.in(preset), Axis.CP,
            bytes.stream().map(first).flatMap(CollectiveCalibration::exchanges).toList());
    }

    private static ReplacedCollectives.Call reduction(Tensor whole) {
        return new ReplacedCollectives.Call("allreduce", whole.bytes(),
            group -> group.allReduce(whole, Reduction.SUM));
    }

    private static Stream<ReplacedCollectives.Call> exchanges(Tensor whole) {
        return Stream.of(
            new ReplacedCollectives.Call("allgather", whole.bytes(),
                group -> group.allGather(whole, own(whole, group))),
            new ReplacedCollectives.Call("reducescatter", whole.bytes(),
                group -> group.reduceScatter(own(whole, group), whole, Reduction.SUM)));
    }

    /** This rank's part of {@code whole}, of which each rank has as much. */
    private static Tensor own(Tensor whole, Communicator group) {
        long part = whole.elements() / group.group().size();
        return whole.slice(group.group().index() * part, part);
    }

    @Override
    public void warmUp() {
        reductions.warmUp();
        exchanges.warmUp();
    }

    @Override
    public void round() {
        reductions.round();
        exchanges.round();
    }

    /**
     * The medians of the rounds.
     *
     * @param nodes number of nodes that the ranks are on, evenly
     */
    public List<CollectiveTable.Row> rows(int nodes) {
        return Stream.of(reductions, exchanges).flatMap(each -> each.rows(nodes)).toList();
    }

    @Override
    public void close() {
        try (arena; reductions) {
            exchanges.close();
        }
    }
}
