package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.slice;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

import org.isobar.backend.cpu.generated.AdamCode;
import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.AdamFactors;
import org.isobar.backend.cpu.vector.Bfloat16;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.device.ops.AdamConstants;
import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.StepControl;
import org.isobar.device.ops.UpdateOps;
import org.isobar.tensor.DType;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/**
 * Gradient unscaling, loss-scale control, and Adam (Kingma and Ba, 2015). Adam follows PyTorch's order of operations
 * and rounding: factors are computed in double and then rounded, and the update is (step m) / (sqrt(v) / sqrt(1 - b2^t)
 * + epsilon).
 */
final class CpuUpdate implements UpdateOps {
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE;

    private final WorkerPool pool;

    CpuUpdate(WorkerPool pool) {
        this.pool = pool;
    }

    @Override
    public void unscale(Tensor gradient, Tensor overflow, Tensor scale, double divisor) {
        MemorySegment gradients = HostStorage.of(gradient);
        float factor = (float) (1 / (HostStorage.of(scale).getAtIndex(DOUBLE, 0) * divisor));
        AtomicBoolean finite = new AtomicBoolean(true);
        ChunkedRange.run(pool, gradient.elements(), ChunkedRange.ELEMENTS, (from, to) -> {
            if (!unscale(slice(gradients, from, to), factor)) {
                finite.setPlain(false); // every worker that writes this writes false
            }
        });
        if (!finite.get()) {
            HostStorage.of(overflow).setAtIndex(DOUBLE, 0, 1);
        }
    }

    /** Computes {@code x *= factor}. Returns whether all results are finite. */
    private static boolean unscale(MemorySegment x, float factor) {
        VectorMask<Float> finite = Lanes.F32.maskAll(true);
        int n = Lanes.count(x);
        int i = 0;
        for (; i <= n - WIDTH; i += WIDTH) {
            FloatVector scaled = load(x, i).mul(factor);
            finite = finite.and(scaled.test(VectorOperators.IS_FINITE));
            store(x, i, scaled);
        }
        if (i < n) {
            VectorMask<Float> rest = Lanes.below(i, n);
            FloatVector scaled = load(x, i, rest).mul(factor);
            finite = finite.and(scaled.test(VectorOperators.IS_FINITE)); // lanes past the end are zero
            store(x, i, scaled, rest);
        }
        return finite.allTrue();
    }

    @Override
    public void advance(Tensor control, Tensor loss, LossScaling scaling) {
        MemorySegment numbers = HostStorage.of(control);
        checkLoss(numbers, HostStorage.of(loss).getAtIndex(DOUBLE, 0));
        if (numbers.getAtIndex(DOUBLE, StepControl.HALT) == StepControl.HALTED) {
            return;
        }
        double scale = numbers.getAtIndex(DOUBLE, StepControl.SCALE);
        double good = numbers.getAtIndex(DOUBLE, StepControl.GOOD_STEPS) + 1;
        if (numbers.getAtIndex(DOUBLE, StepControl.OVERFLOW) != 0) {
            scale *= scaling.backoff();
            good = 0;
            increment(numbers, StepControl.SKIPPED);
        } else {
            increment(numbers, StepControl.COUNT);
            if (good == scaling.interval()) {
                double grown = scale * scaling.growth();
                scale = Float.isInfinite((float) grown) ? scale : grown;
                good = 0;
            }
        }
        numbers.setAtIndex(DOUBLE, StepControl.SCALE, scale);
        numbers.setAtIndex(DOUBLE, StepControl.GOOD_STEPS, good);
    }

    /**
     * Marks the step as skipped if its loss is not finite. If the control is armed, it also halts, and all later steps
     * are skipped.
     */
    private static void checkLoss(MemorySegment numbers, double loss) {
        double halt = numbers.getAtIndex(DOUBLE, StepControl.HALT);
        if (!Double.isFinite(loss)) {
            halt = halt == StepControl.ARMED ? StepControl.HALTED : halt;
            numbers.setAtIndex(DOUBLE, StepControl.HALT, halt);
            numbers.setAtIndex(DOUBLE, StepControl.OVERFLOW, 1);
        }
        if (halt == StepControl.HALTED) {
            numbers.setAtIndex(DOUBLE, StepControl.OVERFLOW, 1);
        }
    }

    private static void increment(MemorySegment numbers, int place) {
        numbers.setAtIndex(DOUBLE, place, numbers.getAtIndex(DOUBLE, place) + 1);
    }

    /**
     * Applies Adam, or changes nothing if the step overflowed. The copy of the parameters is made while they are in
     * cache.
     */
    @Override
    public void adam(Tensor parameter, Tensor copy, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        MemorySegment controls = HostStorage.of(control);
        if (controls.getAtIndex(DOUBLE, StepControl.OVERFLOW) != 0) {
            return;
        }
        MemorySegment parameters = HostStorage.of(parameter);
        MemorySegment gradients = HostStorage.of(gradient);
        MemorySegment moments1 = HostStorage.of(moment1);
        MemorySegment moments2 = HostStorage.of(moment2);
        double learningRate = controls.getAtIndex(DOUBLE, StepControl.LEARNING_RATE);
        double count = controls.getAtIndex(DOUBLE, StepControl.COUNT);
        AdamUpdate update = new AdamUpdate(new AdamFactors(
            (float) constants.beta1(), (float) (1 - constants.beta1()),
            (float) constants.beta2(), (float) (1 - constants.beta2()),
            (float) (-learningRate / (1 - Math.pow(constants.beta1(), count))),
            (float) Math.sqrt(1 - Math.pow(constants.beta2(), count)),
            (float) constants.epsilon(), (float) (1 / constants.divisor())));
        FloatView copies = FloatView.of(copy);
        ChunkedRange.run(pool, parameter.elements(), ChunkedRange.ELEMENTS, (from, to) -> {
            MemorySegment moved = slice(parameters, from, to);
            MemorySegment g = slice(gradients, from, to);
            if (copies.dtype() == DType.BF16) {
                update.run(moved, copies.elements(from, to), g, slice(moments1, from, to),
                    slice(moments2, from, to));
            } else {
                update.run(moved, g, slice(moments1, from, to), slice(moments2, from, to));
            }
        });
    }

    /** The update of elements. */
    record AdamUpdate(AdamFactors factors) {
        void run(MemorySegment parameter, MemorySegment gradient, MemorySegment moment1, MemorySegment moment2) {
            run(parameter, gradient, moment1, moment2,
                AdamCode.update(parameter, gradient, moment1, moment2, factors));
        }

        /** Updates the elements from {@code first} on. */
        void run(MemorySegment parameter, MemorySegment gradient, MemorySegment moment1, MemorySegment moment2,
            int first) {
            int n = Lanes.count(parameter);
            int i = first;
            for (; i <= n - WIDTH; i += WIDTH) {
                FloatVector g = load(gradient, i).mul(factors.part());
                FloatVector m = nextMoment1(load(moment1, i), g);
                FloatVector v = nextMoment2(load(moment2, i), g);
                store(moment1, i, m);
                store(moment2, i, v);
                store(parameter, i, load(parameter, i).add(change(m, v)));
            }
            if (i < n) {
                VectorMask<Float> rest = Lanes.below(i, n);
                FloatVector g = load(gradient, i, rest).mul(factors.part());
                FloatVector m = nextMoment1(load(moment1, i, rest), g);
                FloatVector v = nextMoment2(load(moment2, i, rest), g);
                store(moment1, i, m, rest);
                store(moment2, i, v, rest);
                store(parameter, i, load(parameter, i, rest).add(change(m, v)), rest);
            }
        }

        /** Also stores the parameters in {@code copy}, rounded to BF16. */
        void run(MemorySegment parameter, MemorySegment copy, MemorySegment gradient, MemorySegment moment1,
            MemorySegment moment2) {
            int n = Lanes.count(parameter);
            int i = 0;
            for (; i <= n - WIDTH; i += WIDTH) {
                FloatVector g = load(gradient, i).mul(factors.part());
                FloatVector m = nextMoment1(load(moment1, i), g);
                FloatVector v = nextMoment2(load(moment2, i), g);
                store(moment1, i, m);
                store(moment2, i, v);
                FloatVector moved = load(parameter, i).add(change(m, v));
                store(parameter, i, moved);
                Bfloat16.store(copy, i, moved);
            }
            if (i < n) {
                VectorMask<Float> rest = Lanes.below(i, n);
                FloatVector g = load(gradient, i, rest).mul(factors.part());
                FloatVector m = nextMoment1(load(moment1, i, rest), g);
                FloatVector v = nextMoment2(load(moment2, i, rest), g);
                store(moment1, i, m, rest);
                store(moment2, i, v, rest);
                FloatVector moved = load(parameter, i, rest).add(change(m, v));
                store(parameter, i, moved, rest);
                Bfloat16.store(copy, i, moved, rest);
            }
        }

        private FloatVector nextMoment1(FloatVector m, FloatVector g) {
            return g.fma(FloatVector.broadcast(Lanes.F32, factors.share1()), m.mul(factors.beta1()));
        }

        private FloatVector nextMoment2(FloatVector v, FloatVector g) {
            return v.mul(factors.beta2()).add(g.mul(factors.share2()).mul(g));
        }

        private FloatVector change(FloatVector m, FloatVector v) {
            return m.mul(factors.step()).div(v.sqrt().div(factors.root()).add(factors.epsilon()));
        }
    }
}
