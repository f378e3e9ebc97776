package org.isobar.nn;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;

import org.isobar.device.DeviceArena;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.device.ops.TensorOps;
import org.isobar.random.Philox;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * One forward pass and its backward pass: the operations, the type that products are computed in, the memory, what
 * layers keep in between, and the random masks of this step. A stack: layers pop what they kept in reverse order,
 * and an unbalanced pass throws.
 */
public final class Pass {
    private final TensorOps ops;
    private final DType compute;
    private final DeviceArena kept;
    private final DeviceArena scratch;
    private final Randomness randomness;
    private final Consumer<Parameter> onGradient;
    private final Deque<Entry> stack = new ArrayDeque<>();
    private Inspector inspector = Inspector.NONE;

    /** What makes the random masks of this pass. */
    public sealed interface Randomness { }

    /** Evaluation: no masks. */
    public record None() implements Randomness { }

    /**
     * Training: masks are keyed by seed, layer, step and the sample's place in the global batch.
     *
     * @param seed    of the run
     * @param step    training step, counted over the whole run
     * @param samples how this rank's samples lie in the global batch
     */
    public record Masks(long seed, long step, IndexSpan samples) implements Randomness { }

    /** Sees what layers put out in forward. */
    public interface Inspector {
        /** Ignores all outputs. */
        Inspector NONE = (_, _) -> { };

        /**
         * Modules have put out {@code y}, as far as this rank has it; on all ranks of a model in the same order.
         *
         * @param modules their names in PyTorch's tree, "blocks.3.mlp.fc1", say; of several, each has an equal share of
         *                every row
         * @param y       (.., N); not to be kept
         */
        void output(List<String> modules, Tensor y);
    }

    private record Entry(Object owner, Record saved) { }

    /** A pass in single precision that does not report completed gradients. */
    public Pass(TensorOps ops, DeviceArena kept, DeviceArena scratch, Randomness randomness) {
        this(ops, kept, scratch, randomness, parameter -> { });
    }

    /** A pass in single precision. */
    public Pass(TensorOps ops, DeviceArena kept, DeviceArena scratch, Randomness randomness,
        Consumer<Parameter> onGradient) {
        this(ops, DType.F32, kept, scratch, randomness, onGradient);
    }

    /**
     * A pass over empty arenas: {@code kept} lives from forward to backward, {@code scratch} within one layer.
     *
     * @param compute    type that products are computed in, that of {@link Parameter#compute}
     * @param onGradient told of each parameter when backward has completed its gradient on this rank
     */
    public Pass(TensorOps ops, DType compute, DeviceArena kept, DeviceArena scratch, Randomness randomness,
        Consumer<Parameter> onGradient) {
        this.ops = ops;
        this.compute = compute;
        this.kept = kept;
        this.scratch = scratch;
        this.randomness = randomness;
        this.onGradient = onGradient;
    }

    /** Shows {@code inspector} what layers put out from now on; returns this pass. */
    public Pass inspectedBy(Inspector theInspector) {
        inspector = theInspector;
        return this;
    }

    /** Modules have put out {@code y}: see {@link Inspector#output}. */
    public void output(List<String> modules, Tensor y) {
        inspector.output(modules, y);
    }

    /** A layer has added all it ever will to the gradient of {@code parameter} in this pass. */
    public void complete(Parameter parameter) {
        onGradient.accept(parameter);
    }

    /** The operations of the device at hand. */
    public TensorOps ops() {
        return ops;
    }

    /**
     * The type that products are computed in: that of every activation but the residual stream, the norms' statistics
     * and attention's log-sum-exp, which are in single precision.
     */
    public DType compute() {
        return compute;
    }

    /** A tensor that lives until the end of the pass. */
    public Tensor keep(DType dtype, long... extents) {
        return kept.allocate(dtype, extents);
    }

    /** Opens a scope for tensors that are needed only until it closes. */
    public DeviceArena.Scope scratch() {
        return scratch.scope();
    }

    /** Pushes what {@code owner} needs again in backward. */
    public void push(Object owner, Record saved) {
        stack.push(new Entry(owner, saved));
    }

    /**
     * Returns what {@code owner} pushed last.
     *
     * @throws IllegalStateException if another layer's entry is on top of the stack
     */
    public <T extends Record> T pop(Object owner, Class<T> type) {
        Entry entry = stack.poll();
        if (entry == null || entry.owner() != owner) {
            throw new IllegalStateException("unbalanced pass: " + owner + " pops what "
                + (entry == null ? "no layer" : entry.owner()) + " pushed");
        }
        return type.cast(entry.saved());
    }

    /** Runs a part of forward of which nothing is kept: {@link #again} will run it once more. */
    public void forget(Runnable forward) {
        int depth = stack.size();
        try (DeviceArena.Scope _ = kept.scope()) {
            forward.run();
        }
        while (stack.size() > depth) {
            stack.pop();
        }
    }

    /** Runs a part of forward again, unseen, and then its backward pass, for which the former keeps what it needs. */
    public void again(Runnable forward, Runnable backward) {
        Inspector shown = inspector;
        try (DeviceArena.Scope _ = kept.scope()) {
            inspector = Inspector.NONE;
            forward.run();
            inspector = shown;
            backward.run();
        }
    }

    /** The mask of one purpose in this pass; none in evaluation or at probability 0. */
    public Dropout mask(String purpose, double probability, IndexSpan... innerSpans) {
        return switch (randomness) {
            case None none -> Dropout.NONE;
            case Masks masks when probability == 0 -> Dropout.NONE;
            case Masks masks -> {
                List<IndexSpan> spans = new ArrayList<>(List.of(innerSpans));
                spans.addFirst(masks.samples());
                yield new Dropout(probability, Philox.Key.of(masks.seed(), purpose).at(masks.step()), spans);
            }
        };
    }

    /** Ends the pass after backward: the stack must be empty. */
    public void finish() {
        if (!stack.isEmpty()) {
            throw new IllegalStateException("unbalanced pass: " + stack.peek().owner() + " did not pop what it pushed");
        }
        kept.reset();
    }

    /** Ends the pass without a backward pass. */
    public void discard() {
        stack.clear();
        kept.reset();
    }
}
