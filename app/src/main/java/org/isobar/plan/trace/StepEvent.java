package org.isobar.plan.trace;

import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.tensor.DType;

/** What one rank issues in a training step: an operation, a collective, or the wait for a collective. */
public sealed interface StepEvent {
    /** Name of the product that is the gradient of a weight. */
    String WEIGHT_GRADIENT = "linearBackwardWeight";
    /** Name of the sum that is the gradient of a bias. */
    String BIAS_GRADIENT = "biasBackward";
    /** Name of the product that computes both. */
    String PARAMETER_GRADIENTS = "linearBackwardParameters";

    /** Part of a training step. */
    enum Phase {
        /** From the images to the loss. */
        FORWARD,
        /** From the loss to the gradients. */
        BACKWARD,
        /** The reduction of the loss and the update of the weights. */
        UPDATE
    }

    /** What limits the speed of an operation, for its cost and for the breakdown of a step. */
    enum Work {
        /** A matrix product. */
        PRODUCT,
        /** Attention. */
        ATTENTION,
        /** An operation that reads and writes memory and computes little. */
        MEMORY
    }

    /**
     * An operation of the compute stream.
     *
     * @param name    name of the operation, or of the class of kernels
     * @param work    what limits its speed
     * @param type    type of its data
     * @param extents M, N and K of a product; samples, queries, keys, heads and channels of a head of attention;
     *                otherwise the rows and columns of its output
     * @param flops   floating-point operations of products and attention, the products of attention's definition only
     * @param bytes   bytes of all tensors that it reads or writes
     * @param phase   part of the step
     * @param repeats how many of it are issued one after the other; the other values are those of one
     */
    record Operation(String name, Work work, DType type, List<Long> extents, double flops, double bytes, Phase phase,
        int repeats) implements StepEvent {
        /** Copies the extents. */
        public Operation {
            extents = List.copyOf(extents);
        }

        /** One operation. */
        Operation(String name, Work work, DType type, List<Long> extents, double flops, double bytes, Phase phase) {
            this(name, work, type, extents, flops, bytes, phase, 1);
        }

        /** This operation once. */
        public Operation single() {
            return new Operation(name, work, type, extents, flops, bytes, phase, 1);
        }

        /** This operation once more. */
        Operation repeated() {
            return new Operation(name, work, type, extents, flops, bytes, phase, repeats + 1);
        }

        /** The gradients of weight and bias as the two operations that compute one after the other; else this one. */
        Stream<Operation> separate() {
            if (!name.equals(PARAMETER_GRADIENTS)) {
                return Stream.of(this);
            }
            double gradient = 2.0 * DType.F32.bytes() * extents.get(0); // is read and written
            Operation weight = new Operation(WEIGHT_GRADIENT, work, type, extents, flops, bytes - gradient, phase);
            Operation bias = new Operation(BIAS_GRADIENT, Work.MEMORY, type, List.of(1L, extents.get(0)), 0,
                gradient + (double) type.bytes() * extents.get(0) * extents.get(2), phase);
            return Collections.nCopies(repeats, List.of(weight, bias)).stream().flatMap(List::stream);
        }

        private boolean isLike(Operation other) {
            return name.equals(other.name) && type == other.type && extents.equals(other.extents)
                && bytes == other.bytes && phase == other.phase;
        }

        /** Adds this operation to events, to the last one if that is equal. */
        void addTo(List<StepEvent> events) {
            if (!events.isEmpty() && events.getLast() instanceof Operation last && isLike(last)) {
                events.set(events.size() - 1, last.repeated());
            } else {
                events.add(this);
            }
        }
    }

    /**
     * A collective starts when all work issued before it is done, on the stream of its communicator.
     *
     * @param number index of this collective in its step
     * @param group  name of the group: the axes along which it extends
     * @param kind   kind of the collective
     * @param bytes  bytes of the whole tensor: of all parts together
     * @param even   whether the parts of all ranks have the same size
     * @param phase  part of the step
     */
    record Issue(int number, String group, Kind kind, long bytes, boolean even, Phase phase) implements StepEvent {
        /** This collective with another number. */
        Issue numbered(int other) {
            return new Issue(other, group, kind, bytes, even, phase);
        }
    }

    /**
     * Work that is issued later waits for a collective.
     *
     * @param number that of its {@link Issue}
     */
    record Await(int number) implements StepEvent { }
}
