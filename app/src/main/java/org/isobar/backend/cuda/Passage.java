package org.isobar.backend.cuda;

import java.util.Arrays;
import java.util.Optional;
import java.util.function.Function;

import org.isobar.backend.cuda.Staging.Part;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * One operation of a {@link StagedCommunicator}: what of the GPU's tensors passes through the host's memory.
 *
 * @param what     in words
 * @param dtype    of the tensor for which there is a place in the host's memory
 * @param elements of it
 * @param in       what is copied to that place before
 * @param out      what is copied from it afterwards
 * @param carry    hands the staged tensor on, and returns when the place is no longer needed; its work may be
 */
record Passage(String what, DType dtype, long elements, Optional<Part> in, Optional<Part> out,
    Function<Tensor, Work> carry) {

    static Passage allReduce(Communicator host, Tensor tensor, Reduction reduction) {
        return of("all-reduce", tensor, all(tensor), all(tensor), toItsEnd(staged ->
            host.allReduce(staged, reduction)));
    }

    static Passage allGather(Communicator host, Tensor out, Tensor in, long... sizes) {
        Range own = Range.of(host.group(), out, in, sizes);
        return of("all-gather", out, own.of(in), all(out), toItsEnd(staged ->
            host.allGather(staged, own.slice(staged), sizes)));
    }

    static Passage reduceScatter(Communicator host, Tensor out, Tensor in, Reduction reduction, long... sizes) {
        Range own = Range.of(host.group(), in, out, sizes);
        return of("reduce-scatter", in, all(in), own.of(out), toItsEnd(staged ->
            host.reduceScatter(own.slice(staged), staged, reduction, sizes)));
    }

    static Passage broadcast(Communicator host, Tensor tensor, int root) {
        boolean here = place(host.group(), root) == host.group().index();
        return of("broadcast", tensor, here ? all(tensor) : Optional.empty(), here ? Optional.empty() : all(tensor),
            toItsEnd(staged -> host.broadcast(staged, root)));
    }

    /** {@code send} copies the staged tensor, so that others may pass while it waits for its receiver. */
    static Passage send(ProcessGroup group, Tensor tensor, int peer, Function<Tensor, Work> send) {
        other(group, peer);
        return of("send", tensor, all(tensor), Optional.empty(), send);
    }

    static Passage receive(Communicator host, Tensor tensor, int peer) {
        other(host.group(), peer);
        return of("receive", tensor, Optional.empty(), all(tensor), toItsEnd(staged -> host.receive(staged, peer)));
    }

    static Passage barrier(Communicator host) {
        return new Passage("barrier", DType.F32, 1, Optional.empty(), Optional.empty(), toItsEnd(_ -> host.barrier()));
    }

    private static Passage of(String kind, Tensor whole, Optional<Part> in, Optional<Part> out,
        Function<Tensor, Work> carry) {
        return new Passage(kind + " of " + whole.elements() + " " + whole.dtype(), whole.dtype(), whole.elements(), in,
            out, carry);
    }

    private static Optional<Part> all(Tensor tensor) {
        return Optional.of(new Part(tensor, 0));
    }

    private static Function<Tensor, Work> toItsEnd(Function<Tensor, Work> operation) {
        return staged -> {
            operation.apply(staged).await();
            return Work.completed();
        };
    }

    private static int place(ProcessGroup group, int index) {
        if (index < 0 || index >= group.size()) {
            throw new IllegalArgumentException("no place " + index + " in " + group);
        }
        return index;
    }

    private static void other(ProcessGroup group, int peer) {
        if (place(group, peer) == group.index()) {
            throw new IllegalArgumentException("rank " + group.rank() + " cannot exchange a tensor with itself");
        }
    }

    /** This rank's part of a tensor; without elements, any tensor may stand for it. */
    private record Range(long start, long size) {
        static Range of(ProcessGroup group, Tensor whole, Tensor own, long... sizes) {
            long size = sizes.length == group.size() ? sizes[group.index()] : -1;
            if (size < 0 || whole.dtype() != own.dtype() || Arrays.stream(sizes).sum() != whole.elements()
                || size > 0 && own.elements() != size) {
                throw new IllegalArgumentException("parts of " + Arrays.toString(sizes) + " elements for " + group
                    + ": the whole is " + whole.shape() + " " + whole.dtype() + ", the part of rank " + group.rank()
                    + " " + own.shape() + " " + own.dtype());
            }
            return new Range(Arrays.stream(sizes).limit(group.index()).sum(), size);
        }

        Optional<Part> of(Tensor own) {
            return size == 0 ? Optional.empty() : Optional.of(new Part(own, start));
        }

        Tensor slice(Tensor staged) {
            return size == 0 ? staged : staged.slice(start, size);
        }
    }
}
