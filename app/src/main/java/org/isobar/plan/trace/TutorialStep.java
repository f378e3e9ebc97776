package org.isobar.plan.trace;

import java.util.ArrayList;
import java.util.List;

import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.SequenceSplit;
import org.isobar.plan.trace.StepEvent.Phase;
import org.isobar.plan.trace.StepEvent.Work;
import org.isobar.tensor.DType;
import org.isobar.vit.VitShape;

/**
 * What the tutorial's PyTorch program does in a training step, by class of kernels, as its source says. Norms are not
 * fused and first copy the residual stream, whose memory order is that of the convolution's output. Under autocast each
 * linear layer casts its own input. With tensor or context parallelism, biases are separate additions in fp32, so
 * outputs are fp32 and are cast again, and the gradients of the inputs of q, k, v and fc1 are reduced one by one, in
 * fp32. No collective but those of the gradients overlaps computation.
 */
public final class TutorialStep {
    /** Class of the time in which the GPU does nothing. */
    public static final String IDLE = "idle";
    private static final String COPY = "copy_cast";
    private static final String ELEMENTWISE = "elementwise";
    private static final String REDUCE = "reduce";
    private static final int SINGLE = 4; // bytes of an fp32 number
    private static final long BUCKET = 25 << 20;

    private final VitShape model;
    private final Layout layout;
    private final int amp; // bytes of a number of the compute type
    private final double stream; // numbers of this rank's part of the residual stream
    private final long rows; // of this rank's part
    private final long allRows;
    private final List<StepEvent> events = new ArrayList<>();
    private final List<Integer> buckets = new ArrayList<>();
    private Phase phase = Phase.FORWARD;
    private int collectives;
    private double unsent; // bytes of complete gradients

    /**
     * How the program runs.
     *
     * @param tp    ranks that share weights
     * @param cp    ranks that share tokens
     * @param dp    replicas
     * @param batch samples of a replica
     * @param half  whether autocast to 16 bits is on
     * @param fused whether Adam is fused
     */
    public record Layout(int tp, int cp, int dp, int batch, boolean half, boolean fused) {
        private boolean distributed() {
            return tp * cp > 1;
        }
    }

    private TutorialStep(VitShape model, Layout layout) {
        this.model = model;
        this.layout = layout;
        amp = layout.half ? 2 : SINGLE;
        rows = layout.batch * SequenceSplit.sizes(model.tokens(), layout.cp)[0];
        allRows = layout.batch * model.tokens();
        stream = (double) rows * model.embed();
    }

    /** The step of a rank. */
    public static StepTrace of(VitShape model, Layout layout) {
        return new TutorialStep(model, layout).trace();
    }

    private StepTrace trace() {
        double images = (double) layout.batch * model.height() * model.width();
        double in = images * model.inChannels();
        double out = images * model.outChannels();
        double all = (double) allRows * model.embed();
        long patch = (long) model.patch() * model.patch();
        memory("other", in);
        cast(in);
        cast(weights() * 1.0);
        product("conv", allRows, model.embed(), patch * model.inChannels());
        memory(ELEMENTWISE, all * (amp + SINGLE));
        scatterTokens(all);
        for (int block = 0; block < model.depth(); block++) {
            forwardBlock();
        }
        norm();
        gatherTokens(all);
        headAndLoss(all, out);
        normBackward();
        for (int block = 0; block < model.depth(); block++) {
            backwardBlock();
        }
        gatherTokens(all);
        memory(REDUCE, all * SINGLE);
        product("conv", patch * model.inChannels(), model.embed(), allRows);
        gradients(model.tokens() * (double) model.embed() + patch * model.inChannels() * (double) model.embed());
        flush();
        buckets.forEach(number -> events.add(new StepEvent.Await(number)));
        phase = Phase.UPDATE;
        memory("adam", weights() * (layout.fused ? 28 + (layout.half ? 8 : 0) : 72));
        memory(IDLE, 1);
        return new StepTrace(events);
    }

    /** The head and the loss, forward and backward. */
    private void headAndLoss(double all, double out) {
        long outputs = (long) model.patch() * model.patch() * model.outChannels();
        cast(all);
        product("gemm", allRows, outputs, model.embed());
        memory(COPY, out * 2 * amp);
        memory(ELEMENTWISE, out * (amp + 2 * SINGLE));
        memory(REDUCE, out * 2 * SINGLE);
        phase = Phase.BACKWARD;
        memory(ELEMENTWISE, out * 4 * SINGLE);
        cast(out);
        memory(COPY, out * 2 * amp);
        backwardProduct(allRows, outputs, model.embed());
        cast(all);
        gradients(outputs * (double) model.embed());
    }

    /** Parameters of this rank. */
    private double weights() {
        double embed = model.embed();
        long patch = (long) model.patch() * model.patch();
        return model.depth() * (4 * embed * embed + 2 * embed * model.hidden()) / layout.tp
            + embed * (model.tokens() + patch * (model.inChannels() + model.outChannels()));
    }

    private void forwardBlock() {
        double part = stream / layout.tp; // of a tensor that is cut over tp
        long embed = model.embed() / layout.tp;
        long hidden = model.hidden() / layout.tp;
        norm();
        for (int i = 0; i < 3; i++) { // q, k, v
            cast(stream);
            product("gemm", rows, embed, model.embed());
            bias(part);
        }
        if (layout.cp > 1) {
            gatherKeysAndValues();
        }
        if (layout.distributed()) {
            cast(part * (1 + 2 * layout.cp));
        }
        attention("attn_fwd");
        product("gemm", rows, model.embed(), embed);
        reduce("tp", Kind.ALL_REDUCE, stream * amp);
        bias(stream);
        residual();
        norm();
        cast(stream);
        product("gemm", rows, hidden, model.embed());
        double units = (double) rows * hidden;
        bias(units);
        int width = layout.distributed() ? SINGLE : amp;
        memory("gelu", units * 2 * width);
        if (layout.distributed()) {
            cast(units);
        }
        product("gemm", rows, model.embed(), hidden);
        reduce("tp", Kind.ALL_REDUCE, stream * amp);
        bias(stream);
        residual();
    }

    private void backwardBlock() {
        backwardMlp();
        backwardAttention();
    }

    private void backwardMlp() {
        long hidden = model.hidden() / layout.tp;
        double units = (double) rows * hidden;
        int width = layout.distributed() ? SINGLE : amp;
        biasBackward(stream);
        cast(stream);
        backwardProduct(rows, model.embed(), hidden);
        gradients((double) model.embed() * hidden);
        if (layout.distributed()) {
            cast(units);
        }
        memory("gelu", units * 3 * width);
        biasBackward(units);
        if (layout.distributed()) {
            cast(units);
        }
        backwardProduct(rows, hidden, model.embed());
        gradients((double) model.embed() * hidden);
        cast(stream);
        reduce("tp", Kind.ALL_REDUCE, stream * SINGLE);
        normBackward();
        memory(ELEMENTWISE, stream * 3 * SINGLE);
    }

    private void backwardAttention() {
        double part = stream / layout.tp;
        long embed = model.embed() / layout.tp;
        biasBackward(stream);
        cast(stream);
        backwardProduct(rows, model.embed(), embed);
        gradients((double) model.embed() * embed);
        attention("attn_bwd");
        if (layout.distributed()) {
            cast(part * (1 + 2 * layout.cp));
        }
        if (layout.cp > 1) {
            scatterKeysAndValues();
        }
        for (int i = 0; i < 3; i++) {
            biasBackward(part);
            if (layout.distributed()) {
                cast(part);
            }
            backwardProduct(rows, embed, model.embed());
            gradients((double) model.embed() * embed);
            cast(stream);
            reduce("tp", Kind.ALL_REDUCE, stream * SINGLE);
        }
        memory(ELEMENTWISE, stream * 6 * SINGLE); // the sum of three gradients
        normBackward();
        memory(ELEMENTWISE, stream * 3 * SINGLE);
    }

    private void norm() {
        memory(COPY, stream * 2 * SINGLE);
        memory("layernorm", stream * 2 * SINGLE);
    }

    private void normBackward() {
        memory("layernorm", stream * 3 * SINGLE);
        memory("layernorm", stream * 2 * SINGLE); // gradients of scale and shift
    }

    private void residual() {
        memory(ELEMENTWISE, stream * ((layout.distributed() ? SINGLE : amp) + 2 * SINGLE));
    }

    /** A bias is part of the product, or an addition of its own whose result is fp32. */
    private void bias(double numbers) {
        if (layout.distributed()) {
            memory(ELEMENTWISE, numbers * (amp + SINGLE));
        }
    }

    private void biasBackward(double numbers) {
        memory(REDUCE, numbers * (layout.distributed() ? SINGLE : amp));
    }

    /** A cast between fp32 and the compute type; a copy without autocast is none. */
    private void cast(double numbers) {
        if (layout.half) {
            memory(COPY, numbers * (SINGLE + amp));
        }
    }

    private void gatherKeysAndValues() {
        double bytes = stream / layout.tp * layout.cp * SINGLE;
        for (int i = 0; i < 2; i++) {
            reduce("cp", Kind.ALL_GATHER, bytes);
            memory(COPY, 2 * bytes);
        }
    }

    private void scatterKeysAndValues() {
        double bytes = stream / layout.tp * layout.cp * SINGLE;
        for (int i = 0; i < 2; i++) {
            memory(COPY, 2 * bytes);
            reduce("cp", Kind.REDUCE_SCATTER, bytes);
        }
    }

    private void scatterTokens(double all) {
        if (layout.cp > 1) {
            memory(COPY, 2 * SINGLE * all / layout.cp);
        }
    }

    private void gatherTokens(double all) {
        if (layout.cp > 1) {
            reduce("cp", Kind.ALL_GATHER, all * SINGLE);
            memory(COPY, 2 * SINGLE * all);
        }
    }

    private void backwardProduct(long m, long n, long k) {
        product("gemm", m, k, n);
        product("gemm", n, k, m);
    }

    private void product(String name, long m, long n, long k) {
        events.add(new StepEvent.Operation(name, Work.PRODUCT, type(), List.of(m, n, k), 2.0 * m * n * k,
            (double) amp * (m * n + m * k + n * k), phase));
    }

    private void attention(String name) {
        long heads = model.heads() / layout.tp;
        long queries = rows / layout.batch;
        long channels = model.embed() / model.heads();
        double product = 2.0 * layout.batch * heads * queries * model.tokens() * channels;
        boolean forward = phase == Phase.FORWARD;
        events.add(new StepEvent.Operation(name, Work.ATTENTION, type(),
            List.of((long) layout.batch, queries, model.tokens(), heads, channels), (forward ? 2 : 5) * product,
            amp * (forward ? 4 : 8) * stream / layout.tp, phase));
    }

    private DType type() {
        return layout.half ? DType.F16 : DType.F32;
    }

    private void memory(String name, double bytes) {
        events.add(new StepEvent.Operation(name, Work.MEMORY, type(), List.of(1L, 1L), 0, bytes, phase));
    }

    /** A collective that computation waits for. */
    private void reduce(String group, Kind kind, double bytes) {
        if ((group.equals("tp") ? layout.tp : layout.cp) > 1) {
            int number = issue(group, kind, bytes);
            events.add(new StepEvent.Await(number));
        }
    }

    private int issue(String group, Kind kind, double bytes) {
        boolean even = kind == Kind.ALL_REDUCE || model.tokens() % layout.cp == 0;
        events.add(new StepEvent.Issue(collectives, group, kind, (long) bytes, even, phase));
        return collectives++;
    }

    /** Gradients of one weight are cast, and sent when a bucket is full. */
    private void gradients(double numbers) {
        cast(numbers);
        unsent += numbers * SINGLE;
        if (unsent >= BUCKET) {
            flush();
        }
    }

    private void flush() {
        if (unsent > 0 && layout.dp > 1) {
            buckets.add(issue("dp", Kind.ALL_REDUCE, unsent));
        }
        if (unsent > 0 && layout.cp > 1) {
            buckets.add(issue("cp", Kind.ALL_REDUCE, unsent));
        }
        unsent = 0;
    }
}
