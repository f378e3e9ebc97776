package org.isobar.config.keys;

import static org.isobar.config.keys.NoEffect.Where.ANYWHERE;
import static org.isobar.config.keys.NoEffect.Where.IN_ONE_PROCESS;
import static org.isobar.config.keys.ValueType.AXES;
import static org.isobar.config.keys.ValueType.FILE_NAME;
import static org.isobar.config.keys.ValueType.FLAG;
import static org.isobar.config.keys.ValueType.count;
import static org.isobar.config.keys.ValueType.oneOf;
import static org.isobar.config.keys.ValueType.real;

import org.isobar.backend.CommBackend;

/**
 * The name of a run and how its processes share the work. The tutorial has most of these as command-line options only.
 */
public final class LaunchKeys extends KeyGroup {
    private static final ValueType<Double> SECONDS = real("from 1 to 1000000", s -> s >= 1 && s <= 1e6);

    public final Key<String> runNum = add(Key.freeOnResume("run_num", FILE_NAME,
        "Name of this run, and of its directory, among those of its preset.").defaultsTo("00").asOption("TAG"));
    public final Key<Integer> bucketCapMb = add(Key.freeOnResume("bucket_cap_mb", count(1),
        "Most MB of gradients in one all-reduce.").defaultsTo(25).asOption("MB")
        .noEffect(IN_ONE_PROCESS, "one process sends no gradients"));
    public final Key<Boolean> disableBroadcastBuffers = add(Key.freeOnResume("disable_broadcast_buffers", FLAG,
        "Do not synchronize buffers between processes.").defaultsTo(false).asOption()
        .noEffect(ANYWHERE, true, "the model has no buffers"));
    public final Key<Boolean> noddp = add(Key.fixedOnResume("noddp", FLAG,
        "Do not reduce gradients between data-parallel processes.").defaultsTo(false).asOption()
        .noEffect(IN_ONE_PROCESS, true, "one process reduces no gradients"));
    public final Key<Integer> tensorParallel = add(Key.freeOnResume("tensor_parallel", count(1),
        "Processes that share each layer's weights.").defaultsTo(1).asOption("N", "row_parallel_size"));
    public final Key<Integer> contextParallel = add(Key.freeOnResume("context_parallel", count(1),
        "Processes that share each image's tokens.").defaultsTo(1).asOption());
    public final Key<Integer> pipelineParallel = add(Key.freeOnResume("pipeline_parallel", count(1),
        "Pipeline stages; only 1 is supported.").defaultsTo(1).asOption());
    public final Key<String> parallelOrder = add(Key.freeOnResume("parallel_order", AXES,
        "Order in which ranks fill the process grid, fastest axis first.").defaultsTo("tp-cp-dp").asOption());

    public final Key<CommBackend> commBackend = add(Key.freeOnResume("comm_backend", oneOf(CommBackend.class),
        "What carries collectives: nccl, between GPUs; host, sockets through host memory, with which processes can "
            + "share a GPU; auto, nccl for GPUs and host for CPUs.").defaultsTo(CommBackend.AUTO).asOption()
        .noEffect(IN_ONE_PROCESS, "one process has no collectives"));
    public final Key<Double> commTimeout = add(Key.freeOnResume("comm_timeout", SECONDS,
        "Seconds within which processes end when another has died or is stopped.").defaultsTo(10.0)
        .asOption("SECONDS").noEffect(IN_ONE_PROCESS, "one process waits for no other"));
    public final Key<Double> startTimeout = add(Key.freeOnResume("start_timeout", SECONDS,
        "Seconds that processes wait for each other at the start.").defaultsTo(120.0)
        .asOption("SECONDS").noEffect(IN_ONE_PROCESS, "one process waits for no other"));
    public final Key<Double> proveCollectives = add(Key.freeOnResume("prove_collectives",
        real("from 0 to 1000000", s -> s >= 0 && s <= 1e6),
        "Seconds at most in which the first process checks at the start, while data are opened, that all processes "
            + "will issue matching collectives; 0 leaves the check out.").defaultsTo(1.0)
        .asOption("SECONDS").noEffect(IN_ONE_PROCESS, "one process has no collectives"));
}
