package org.isobar.backend.host;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import org.isobar.distributed.Communicator;
import org.isobar.distributed.Job;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RankEnvironment;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Rendezvous;
import org.isobar.distributed.TimeLimits;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Compares an all-reduce of 100 MB between two processes of this machine, which moves 100 MB each way, with plain
 * streams of the same memory over loopback: one way, and both ways at once. Run without arguments, with the test class
 * path.
 */
final class AllReduceBenchmark {
    private static final int BYTES = 100_000_000;
    private static final int ROUNDS = 15;

    private AllReduceBenchmark() { }

    /** Starts two ranks and prints what rank 0 measures; with an argument, is one of them. */
    public static void main(String... arguments) throws Exception {
        if (arguments.length > 0) {
            measure();
            return;
        }
        int port = Ranks.freePort();
        Path log = Files.createTempFile("all-reduce", ".log");
        Process other = Jvm.start(AllReduceBenchmark.class, 1, 2, port, Files.createTempFile("rank1", ".log"), "rank");
        Process first = Jvm.start(AllReduceBenchmark.class, 0, 2, port, log, "rank");
        other.waitFor();
        first.waitFor();
        System.out.print(Files.readString(log));
    }

    private static void measure() throws Exception {
        Map<String, String> environment = System.getenv();
        try (Job job = Rendezvous.join(RankEnvironment.of(environment), JobSecret.of(environment), Map.of(),
            TimeLimits.DEFAULT);
            Communicator communicator = SocketCommunicator.open(job, new ProcessGroup("dp", List.of(0, 1),
                job.rank()))) {
            Tensor tensor = HostTensors.of(DType.F32, BYTES / 4, i -> i);
            Tensor landing = HostTensors.of(DType.F32, BYTES / 4, i -> i);
            Tensor small = HostTensors.of(DType.F32, 256, i -> i);
            Tensor activation = HostTensors.of(DType.F32, 98_304, i -> i);
            SocketChannel channel = job.rank() == 0 ? job.connect(1, "stream") : job.accept(0, "stream");
            double[] stream = new double[ROUNDS];
            double[] both = new double[ROUNDS];
            double[] reduce = new double[ROUNDS];
            double[] latency = new double[ROUNDS];
            double[] activations = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                stream[round] = seconds(communicator, 1, () -> stream(channel, tensor, job.rank() == 0));
                both[round] = seconds(communicator, 1, () -> exchange(channel, tensor, landing));
                reduce[round] = seconds(communicator, 1, () -> communicator.allReduce(tensor, Reduction.AVERAGE)
                    .await());
                latency[round] = seconds(communicator, 200, () -> communicator.allReduce(small, Reduction.SUM)
                    .await());
                activations[round] = seconds(communicator, 200,
                    () -> communicator.allReduce(activation, Reduction.AVERAGE).await());
            }
            System.out.printf("all-reduce %.1f ms, %.2f GB/s%n", median(reduce) * 1e3, BYTES / median(reduce) / 1e9);
            report("one way", stream, reduce);
            report("both ways", both, reduce);
            System.out.printf("1 KB: %.0f us; 0.4 MB, demo's activations: %.0f us%n", median(latency) * 1e6 / 200,
                median(activations) * 1e6 / 200);
        }
    }

    private static void report(String name, double[] times, double[] reduce) {
        double time = median(times);
        System.out.printf("stream, %s: %.1f ms, %.2f GB/s; the all-reduce reaches %.2f of it%n", name, time * 1e3,
            BYTES / time / 1e9, time / median(reduce));
    }

    private static double seconds(Communicator communicator, int times, Step step) throws Exception {
        communicator.barrier().await();
        long start = System.nanoTime();
        for (int i = 0; i < times; i++) {
            step.run();
        }
        communicator.barrier().await();
        return (System.nanoTime() - start) / 1e9;
    }

    /** Sends the tensor's memory from one process to the tensor's memory of the other, as fast as it goes. */
    @SuppressWarnings("restricted")
    private static void stream(SocketChannel channel, Tensor tensor, boolean writes) throws Exception {
        ByteBuffer bytes = MemorySegment.ofAddress(tensor.address()).reinterpret(tensor.bytes()).asByteBuffer();
        while (bytes.hasRemaining()) {
            if (writes) {
                channel.write(bytes);
            } else {
                channel.read(bytes);
            }
        }
    }

    /** Sends one tensor's memory while the other's is filled. */
    private static void exchange(SocketChannel channel, Tensor from, Tensor to) throws Exception {
        CompletableFuture<Void> written = CompletableFuture.runAsync(() -> {
            try {
                stream(channel, from, true);
            } catch (Exception broken) {
                throw new CompletionException(broken);
            }
        });
        stream(channel, to, false);
        written.get();
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** Something to be timed. */
    @FunctionalInterface
    private interface Step {
        /** Does it. */
        void run() throws Exception;
    }
}
