package org.isobar.backend.cuda.nccl;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

import org.isobar.backend.cuda.driver.CudaEvent;
import org.isobar.backend.cuda.driver.CudaStream;

/**
 * Orders the stream of a communicator with the compute stream, and tracks the operations in flight on the former. An
 * operation starts after all work issued to compute before it. Work issued to compute after {@link #awaitOnCompute}
 * starts after the operation:
 *
 * <pre>
 *   compute  ---- ready ------------------------- await -----
 *                    \                           /
 *   stream            +--- collective --- done -+
 * </pre>
 *
 * <p>The events of finished operations are reused, so a long run creates no more of them. Operations captured in a CUDA
 * graph have events of their own, because an event recorded during capture cannot be queried.
 */
final class NcclStreamOrder implements AutoCloseable {
    private final CudaStream compute;
    private final CudaStream stream;
    private final Runnable progressed;
    private final Deque<NcclOperation> inFlight = new ArrayDeque<>();
    private final Deque<NcclEvents> free = new ArrayDeque<>();
    private final Deque<NcclEvents> freeCaptured = new ArrayDeque<>();
    private final List<NcclEvents> all = new ArrayList<>();

    /** @param progressed runs whenever an operation is found to be done */
    NcclStreamOrder(CudaStream compute, CudaStream stream, Runnable progressed) {
        this.compute = compute;
        this.stream = stream;
        this.progressed = progressed;
    }

    /** Starts an operation: what is issued to the stream before {@link #end} waits for the compute work so far. */
    synchronized NcclOperation begin() {
        boolean capturing = compute.isCapturing();
        if (!capturing) {
            retire();
        }
        NcclEvents reused = (capturing ? freeCaptured : free).poll();
        NcclEvents events = reused != null ? reused
            : create(capturing ? NcclEvents.Mode.CAPTURED : NcclEvents.Mode.ISSUED);
        compute.record(events.ready());
        stream.await(events.ready());
        return new NcclOperation(events);
    }

    private NcclEvents create(NcclEvents.Mode mode) {
        NcclEvents events = new NcclEvents(new CudaEvent(), new CudaEvent(), mode);
        all.add(events);
        return events;
    }

    /** Records the end of an operation, after all its collectives have been issued. */
    synchronized void end(NcclOperation operation) {
        stream.record(operation.events().done());
        if (operation.events().mode() == NcclEvents.Mode.ISSUED) {
            inFlight.add(operation);
        }
    }

    /** Makes later work of the compute stream wait for {@code operation}. */
    synchronized void awaitOnCompute(NcclOperation operation) {
        if (operation.events() == null) {
            return;
        }
        compute.await(operation.events().done());
        if (operation.events().mode() == NcclEvents.Mode.CAPTURED) {
            freeCaptured.add(operation.releaseEvents());
        }
    }

    /** Whether {@code operation} is done. A captured operation is never done, because it runs with its graph. */
    synchronized boolean done(NcclOperation operation) {
        NcclEvents events = operation.events();
        return events == null || events.mode() == NcclEvents.Mode.ISSUED && events.done().reached();
    }

    /** Whether all issued operations are done. */
    synchronized boolean idle() {
        retire();
        return inFlight.isEmpty();
    }

    /** The oldest operation that is not known to be done. */
    synchronized Optional<NcclOperation> oldest() {
        return Optional.ofNullable(inFlight.peek());
    }

    /** The oldest unfinished operation, if the GPU has reached it: there the GPU waits for other ranks. */
    synchronized Optional<NcclOperation> waiting() {
        retire();
        return oldest().filter(operation -> operation.events().ready().reached());
    }

    private void retire() {
        while (!inFlight.isEmpty() && inFlight.peek().events().done().reached()) {
            free.add(inFlight.remove().releaseEvents());
            progressed.run();
        }
    }

    @Override
    public void close() {
        all.forEach(NcclEvents::close);
    }
}
