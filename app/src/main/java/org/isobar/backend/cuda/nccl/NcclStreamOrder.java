package org.isobar.backend.cuda.nccl;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.CudaStream;

/**
 * The order between a communicator's stream and that of the operations, and what is under way on the former. An
 * operation begins after all that was computed before, and what is computed after {@link #follow} begins after it:
 *
 * <pre>
 *   compute  ---- ready ------------------------- follow ----
 *                    \                           /
 *   stream            +--- collective --- done -+
 * </pre>
 *
 * <p>Events of operations that are done serve others, so that in the long run none are made. Those that are recorded in
 * a CUDA graph have events of their own: an event of a graph cannot be asked whether it was reached.
 */
final class NcclStreamOrder implements AutoCloseable {
    private final CudaStream compute;
    private final CudaStream stream;
    private final Runnable progressed;
    private final Deque<NcclWork> underway = new ArrayDeque<>();
    private final Deque<Marks> free = new ArrayDeque<>();
    private final Deque<Marks> freeInGraphs = new ArrayDeque<>();
    private final List<Marks> all = new ArrayList<>();

    /** The events around an operation, and what they are events of. */
    record Marks(CudaEvent ready, CudaEvent done, Kind kind) { }

    /** What becomes of an operation. */
    enum Kind {
        /** It runs. */
        ISSUED,
        /** It is part of a CUDA graph. */
        CAPTURED
    }

    /** Nothing under way; {@code progressed} runs when an operation has been found to be done. */
    NcclStreamOrder(CudaStream compute, CudaStream stream, Runnable progressed) {
        this.compute = compute;
        this.stream = stream;
        this.progressed = progressed;
    }

    /** What is issued to the stream from now on, until {@link #end}, waits for all that is to be computed before. */
    synchronized Marks begin() {
        boolean capturing = compute.isCapturing();
        if (!capturing) {
            settle();
        }
        Marks known = (capturing ? freeInGraphs : free).poll();
        Marks marks = known == null ? marks(capturing ? Kind.CAPTURED : Kind.ISSUED) : known;
        marks.ready.record(compute);
        stream.await(marks.ready);
        return marks;
    }

    private Marks marks(Kind kind) {
        Marks marks = new Marks(new CudaEvent(), new CudaEvent(), kind);
        all.add(marks);
        return marks;
    }

    /** All of {@code work} has been issued. */
    synchronized void end(NcclWork work) {
        work.marks().done.record(stream);
        if (work.marks().kind == Kind.ISSUED) {
            underway.add(work);
        }
    }

    /** What is issued to compute from now on waits for {@code work}. */
    synchronized void follow(NcclWork work) {
        if (work.marks() == null) {
            return;
        }
        compute.await(work.marks().done);
        if (work.marks().kind == Kind.CAPTURED) {
            freeInGraphs.add(work.finish());
        }
    }

    /** Whether {@code work} is done. What is recorded is never done: it is yet to be played. */
    synchronized boolean done(NcclWork work) {
        return work.marks() == null || work.marks().kind == Kind.ISSUED && work.marks().done.reached();
    }

    /** Whether all that was issued is done. */
    synchronized boolean idle() {
        settle();
        return underway.isEmpty();
    }

    /** The oldest that is not known to be done. */
    synchronized Optional<NcclWork> oldest() {
        return Optional.ofNullable(underway.peek());
    }

    /** The oldest that is not done, if the GPU has come to it: it waits for other ranks there. */
    synchronized Optional<NcclWork> waiting() {
        settle();
        return oldest().filter(work -> work.marks().ready.reached());
    }

    private void settle() {
        while (!underway.isEmpty() && underway.peek().marks().done.reached()) {
            free.add(underway.remove().finish());
            progressed.run();
        }
    }

    @Override
    public void close() {
        all.forEach(marks -> {
            marks.ready.close();
            marks.done.close();
        });
    }
}
