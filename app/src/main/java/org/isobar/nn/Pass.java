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
 * The context of one forward pass and its backward pass: the operations, the compute type, the memory, the activations
 * saved for backward, and the random masks of this step. Saved records form a stack: layers pop them in reverse order,
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

    /** The source of the random masks of this pass. */
    public sealed interface Randomness { }

    /** Evaluation: no masks. */
    public record None() implements Randomness { }

    /**
     * Training: masks are keyed by seed, layer, step and the sample's index in the global batch.
     *
     * @param seed    of the run
     * @param step    training step, counted over the whole run
     * @param samples position of this rank's samples in the global batch
     */
    public record Masks(long seed, long step, IndexSpan samples) implements Randomness { }

    /** Receives the outputs of layers in forward. */
    public interface Inspector {
        /** Ignores all outputs. */
        Inspector NONE = (_, _) -> { };

        /**
         * Receives {@code y}, this rank's part of the output of one or more modules. All ranks of a model call this in
         * the same order.
         *
         * @param modules names in PyTorch's module tree, for example "blocks.3.mlp.fc1"; if there are several, each has
         *                an equal share of every row
         * @param y       (.., N); valid only during the call
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
     * @param compute    type that matrix products are computed in, that of {@link Parameter#compute}
     * @param onGradient called with each parameter when backward has completed its gradient on this rank
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

    /** Passes the outputs of layers to {@code theInspector}; returns this pass. */
    public Pass inspectedBy(Inspector theInspector) {
        inspector = theInspector;
        return this;
    }

    /** Passes {@code y}, the output of {@code modules}, to the inspector: see {@link Inspector#output}. */
    public void output(List<String> modules, Tensor y) {
        inspector.output(modules, y);
    }

    /** Reports that this rank has added all contributions of this pass to the gradient of {@code parameter}. */
    public void complete(Parameter parameter) {
        onGradient.accept(parameter);
    }

    /** The operations of the device. */
    public TensorOps ops() {
        return ops;
    }

    /**
     * The compute type: the type of matrix products and of every activation except the residual stream, the norms'
     * statistics and attention's log-sum-exp, which are F32.
     */
    public DType compute() {
        return compute;
    }

    /** Allocates a tensor that lives until the end of the pass. */
    public Tensor keep(DType dtype, long... extents) {
        return kept.allocate(dtype, extents);
    }

    /** Opens a scope for tensors that are needed only until it closes. */
    public DeviceArena.Scope scratch() {
        return scratch.scope();
    }

    /** Pushes what {@code owner} saves for backward. */
    public void push(Object owner, Record saved) {
        stack.push(new Entry(owner, saved));
    }

    /**
     * Pops and returns what {@code owner} pushed last.
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

    /** Runs a part of forward and discards what it saved for backward; {@link #again} recomputes it. */
    public void forget(Runnable forward) {
        int depth = stack.size();
        try (DeviceArena.Scope _ = kept.scope()) {
            forward.run();
        }
        while (stack.size() > depth) {
            stack.pop();
        }
    }

    /** Reruns a part of forward, without the inspector, to save what backward needs, and then runs its backward. */
    public void again(Runnable forward, Runnable backward) {
        Inspector shown = inspector;
        try (DeviceArena.Scope _ = kept.scope()) {
            inspector = Inspector.NONE;
            forward.run();
            inspector = shown;
            backward.run();
        }
    }

    /** The random mask for {@code purpose} in this pass; {@link Dropout#NONE} in evaluation or at probability 0. */
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
