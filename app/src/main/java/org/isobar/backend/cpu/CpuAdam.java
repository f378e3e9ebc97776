package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.Lanes.WIDTH;
import static org.isobar.backend.cpu.Lanes.load;
import static org.isobar.backend.cpu.Lanes.slice;
import static org.isobar.backend.cpu.Lanes.store;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;

import org.isobar.device.AdamConstants;
import org.isobar.tensor.Tensor;

/**
 * Adam (Kingma and Ba, 2015) in the order of operations and roundings of PyTorch: factors are worked out in double and
 * rounded, and the update is (step m) / (sqrt(v) / sqrt(1 - b2^t) + epsilon).
 */
final class CpuAdam {
    private final WorkerPool pool;

    CpuAdam(WorkerPool pool) {
        this.pool = pool;
    }

    void adam(Tensor parameter, Tensor gradient, Tensor moment1, Tensor moment2, Tensor control,
        AdamConstants constants) {
        MemorySegment parameters = Segments.of(parameter);
        MemorySegment gradients = Segments.of(gradient);
        MemorySegment moments1 = Segments.of(moment1);
        MemorySegment moments2 = Segments.of(moment2);
        MemorySegment controls = Segments.of(control);
        double learningRate = controls.getAtIndex(ValueLayout.JAVA_DOUBLE, 0);
        double count = controls.getAtIndex(ValueLayout.JAVA_DOUBLE, 1);
        Factors factors = new Factors(
            (float) constants.beta1(), (float) (1 - constants.beta1()),
            (float) constants.beta2(), (float) (1 - constants.beta2()),
            (float) (-learningRate / (1 - Math.pow(constants.beta1(), count))),
            (float) Math.sqrt(1 - Math.pow(constants.beta2(), count)),
            (float) constants.epsilon());
        Chunks.run(pool, parameter.elements(), Chunks.ELEMENTS, (from, to) -> factors.update(
            slice(parameters, from, to), slice(gradients, from, to), slice(moments1, from, to),
            slice(moments2, from, to)));
    }

    /** What every element is updated with. {@code step} is negative, {@code root} is sqrt(1 - b2^t). */
    private record Factors(float beta1, float share1, float beta2, float share2, float step, float root,
        float epsilon) {

        void update(MemorySegment parameter, MemorySegment gradient, MemorySegment moment1, MemorySegment moment2) {
            int n = Lanes.count(parameter);
            int i = 0;
            for (; i <= n - WIDTH; i += WIDTH) {
                FloatVector g = load(gradient, i);
                FloatVector m = nextMoment1(load(moment1, i), g);
                FloatVector v = nextMoment2(load(moment2, i), g);
                store(moment1, i, m);
                store(moment2, i, v);
                store(parameter, i, load(parameter, i).add(change(m, v)));
            }
            if (i < n) {
                VectorMask<Float> rest = Lanes.below(i, n);
                FloatVector g = load(gradient, i, rest);
                FloatVector m = nextMoment1(load(moment1, i, rest), g);
                FloatVector v = nextMoment2(load(moment2, i, rest), g);
                store(moment1, i, m, rest);
                store(moment2, i, v, rest);
                store(parameter, i, load(parameter, i, rest).add(change(m, v)), rest);
            }
        }

        private FloatVector nextMoment1(FloatVector m, FloatVector g) {
            return g.fma(FloatVector.broadcast(Lanes.F32, share1), m.mul(beta1));
        }

        private FloatVector nextMoment2(FloatVector v, FloatVector g) {
            return v.mul(beta2).add(g.mul(share2).mul(g));
        }

        private FloatVector change(FloatVector m, FloatVector v) {
            return m.mul(step).div(v.sqrt().div(root).add(epsilon));
        }
    }
}
