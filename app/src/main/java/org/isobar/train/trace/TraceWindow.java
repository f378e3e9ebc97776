package org.isobar.train.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.config.keys.StepRange;
import org.isobar.device.OperationProxy;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.distributed.job.JobDevice;
import org.isobar.os.AtomicFile;
import org.isobar.train.step.PhaseClock;
import org.isobar.train.step.Replica;

/**
 * The steps of a run that are traced ({@code --trace}). At its begin and end, all issued steps are finished. Then the
 * ranks send what they recorded to rank 0, which writes it to {@link #FILE}.
 */
public final class TraceWindow {
    /** Name of the file in a run's directory. */
    public static final String FILE = "trace.json";
    /** Ranks that are traced; of more, the file would be too large. */
    static final int MOST_RANKS = 64;
    private static final int MOST_EVENTS = 200_000; // of each kind on all ranks: rank 0 holds them in its heap
    private static final String TOPIC = "trace";
    private static final int BARRIERS = 5;

    private final Optional<StepRange> range;
    private final StepTracer tracer = new StepTracer();
    private Target target;
    private State state = State.BEFORE;
    private long[] barriers = new long[0];
    private long number; // of the step under way
    private long stepBegan;

    private enum State {
        BEFORE, ACTIVE, AFTER
    }

    /**
     * Where a trace goes.
     *
     * @param directory of the run
     * @param rank      of this process
     * @param messages  of the job
     * @param limit     most time to wait for other ranks
     * @param log       receives a line about the file
     */
    public record Target(Path directory, int rank, RankMessages messages, Duration limit, Consumer<String> log) { }

    /** The window over some steps of a run, or none; made by the thread that trains. */
    public TraceWindow(Optional<StepRange> range) {
        this.range = range;
    }

    /** A window over no steps. */
    public static TraceWindow none() {
        return new TraceWindow(Optional.empty());
    }

    /** Whether steps are traced. */
    public boolean isOpen() {
        return range.isPresent();
    }

    /** The device, observed if steps are traced. */
    public JobDevice observed(JobDevice device) {
        return isOpen() ? OperationProxy.of(JobDevice.class, device, tracer) : device;
    }

    /** The communicator, observed if steps are traced. */
    public Communicator observed(Communicator communicator) {
        return isOpen() ? new RecordingCommunicator(communicator, tracer) : communicator;
    }

    /** Observes the phases of steps, and says where the trace goes. */
    public void connect(PhaseClock clock, Target destination) {
        target = destination;
        if (isOpen()) {
            clock.listen(tracer);
        }
    }

    /**
     * Begins or ends the trace if step {@code next} of the run, from 1, is its first or comes after its last. All ranks
     * call this together.
     *
     * @param finishSteps waits for all issued steps
     */
    public void stepBegins(long next, Replica replica, Runnable finishSteps) {
        if (range.isEmpty() || state == State.AFTER) {
            return;
        }
        boolean inside = range.get().contains(next);
        if (state == State.ACTIVE) {
            endStep();
        }
        if (state == State.ACTIVE && !inside) {
            finishSteps.run();
            end();
        } else if (state == State.BEFORE && inside) {
            finishSteps.run();
            barriers = new long[BARRIERS];
            for (int i = 0; i < BARRIERS; i++) {
                replica.consensus().barrier();
                barriers[i] = System.nanoTime();
            }
            tracer.begin(replica.model().device(), MOST_EVENTS / Math.min(target.messages.ranks(), MOST_RANKS));
            state = State.ACTIVE;
        }
        number = next;
        stepBegan = System.nanoTime();
    }

    /** Ends a trace whose last steps the run does not have. All ranks call this together. */
    public void runEnds() {
        if (state == State.ACTIVE) {
            endStep();
            end();
        } else if (range.isPresent() && state == State.BEFORE) {
            target.log.accept("--trace " + range.get() + ": this process trained none of these steps");
        }
    }

    private void endStep() {
        tracer.add(StepTracer.STEPS, "step " + number, stepBegan);
    }

    private void end() {
        state = State.AFTER;
        RankTimeline own = tracer.end(target.rank, barriers);
        JsonMapper json = new JsonMapper(); // made here, because a start without a trace need not load its classes
        try {
            if (target.rank > 0) {
                byte[] message = target.rank < MOST_RANKS ? json.writeValueAsBytes(own) : new byte[0];
                target.messages.report(TOPIC, message, RankMessages.Urgency.NORMAL);
                return;
            }
            List<RankTimeline> ranks = new ArrayList<>(List.of(own));
            for (byte[] message : target.messages.gather(TOPIC, target.limit).values()) {
                if (message.length > 0) {
                    ranks.add(json.readValue(message, RankTimeline.class));
                }
            }
            Path file = target.directory.resolve(FILE);
            new AtomicFile("the trace", file, "--expdir").write(new ChromeTrace(ranks, range.get()).json());
            target.log.accept("Trace of steps " + range.get() + ": " + file);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new CommunicationException("rank " + target.rank + " was interrupted while traces were collected",
                interrupted);
        }
    }
}
