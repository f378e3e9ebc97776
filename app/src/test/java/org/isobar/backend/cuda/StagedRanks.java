package org.isobar.backend.cuda;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongToDoubleFunction;
import java.util.stream.IntStream;

import org.isobar.backend.CommBackend;
import org.isobar.backend.host.Ranks;
import org.isobar.device.Arena;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Job;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RankEnvironment;
import org.isobar.distributed.Rendezvous;
import org.isobar.distributed.TimeLimits;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/** Ranks as threads of this process that share a GPU, connected by sockets through the host's memory. */
final class StagedRanks {
    private static final long MEMORY = 128L << 20;

    private StagedRanks() { }

    /** What a rank does. */
    @FunctionalInterface
    interface Body {
        void run(Rank rank) throws Exception;
    }

    /** One of them, and room for its tensors. */
    record Rank(CudaDevice device, Arena arena, Communicator communicator) {
        int index() {
            return communicator.group().index();
        }

        /** A vector of the GPU whose element i is {@code value(i)}, rounded. */
        Tensor tensor(DType dtype, long elements, LongToDoubleFunction value) {
            Tensor tensor = arena.allocate(dtype, elements);
            try (java.lang.foreign.Arena host = java.lang.foreign.Arena.ofConfined()) {
                MemorySegment numbers = host.allocate(tensor.bytes(), dtype.bytes());
                for (long i = 0; i < elements; i++) {
                    long bits = dtype.bits(value.applyAsDouble(i));
                    MemorySegment.copy(MemorySegment.ofArray(new long[] {bits}), 0, numbers, i * dtype.bytes(),
                        dtype.bytes()); // the low bytes come first
                }
                device.upload(tensor, numbers);
            }
            return tensor;
        }

        /** The numbers of a tensor. */
        double[] values(Tensor tensor) {
            Tensor wide = tensor;
            if (tensor.dtype() == DType.F16 || tensor.dtype() == DType.BF16) {
                wide = arena.allocate(DType.F32, tensor.elements());
                device.ops().cast(wide, tensor.reshape(tensor.elements()));
            }
            if (wide.dtype() == DType.F64) {
                double[] doubles = new double[(int) wide.elements()];
                device.download(MemorySegment.ofArray(doubles), wide);
                return doubles;
            }
            float[] floats = CudaFixture.values(device, wide);
            return IntStream.range(0, floats.length).mapToDouble(i -> floats[i]).toArray();
        }
    }

    /** Runs {@code body} at each of {@code count} ranks, and expects that all succeed. */
    static void run(int count, Body body) throws Exception {
        for (Exception each : outcomes(count, Ranks.LONG, body)) {
            if (each != null) {
                throw each;
            }
        }
    }

    /** Runs {@code body} at each of {@code count} ranks; what each of them throws, or null. */
    static List<Exception> outcomes(int count, TimeLimits limits, Body body) throws Exception {
        int port = Ranks.freePort();
        List<Exception> thrown = new ArrayList<>(Collections.nCopies(count, null));
        List<Integer> all = IntStream.range(0, count).boxed().toList();
        List<Thread> threads = all.stream().map(rank -> Thread.ofPlatform().daemon().name("rank " + rank).start(() -> {
            try {
                rank(new ProcessGroup("dp", all, rank), port, limits, body);
            } catch (Exception | AssertionError failure) {
                thrown.set(rank, failure instanceof Exception exception ? exception : new Exception(failure));
            }
        })).toList();
        for (Thread thread : threads) {
            if (!thread.join(limits.start().plus(limits.stall()))) {
                IllegalStateException stuck = new IllegalStateException(thread + " hangs");
                stuck.setStackTrace(thread.getStackTrace());
                thrown.stream().filter(Objects::nonNull).forEach(stuck::addSuppressed);
                throw stuck;
            }
        }
        return thrown;
    }

    private static void rank(ProcessGroup group, int port, TimeLimits limits, Body body) throws Exception {
        RankEnvironment self = new RankEnvironment(group.rank(), group.size(), group.rank(), "127.0.0.1", port);
        try (CudaDevice device = CudaFixture.device(); Arena arena = device.arena("test", MEMORY);
            Job job = Rendezvous.join(self, JobSecret.none(), Map.of(), limits);
            Communicator communicator = CommBackend.HOST.open(device, job, group)) {
            body.run(new Rank(device, arena, communicator));
        }
    }
}
