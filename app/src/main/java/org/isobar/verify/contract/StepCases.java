package org.isobar.verify.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;

import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.StepControl;
import org.isobar.tensor.DType;
import org.isobar.verify.reference.ExpectedTensor;
import org.isobar.verify.reference.ReferenceOps;

/** Cases of mixed-precision step control: unscaling gradients and advancing to the next step. */
final class StepCases {
    private static final LossScaling SCALING = new LossScaling(2, 0.5, 3);
    private static final double RATE = 5e-4;
    private static final double LOSS = 0.9;

    private StepCases() { }

    static List<ContractCase> cases() {
        List<ContractCase> cases = new ArrayList<>();
        for (int n : EdgeSizes.elements()) {
            cases.add(unscale("of " + n, n, 65536, 0));
            cases.add(unscale("of " + n + " with infinity at the end", n, 4, 0, Double.NEGATIVE_INFINITY));
        }
        cases.add(unscale("by no power of two", 1000, 3, 0));
        cases.add(unscale("of three replicas", 1000, 65536, 3, 0, new double[0]));
        cases.add(unscale("with a NaN", 1000, 65536, 0, Double.NaN));
        cases.add(unscale("with hardly a finite number", 5000, 65536, 0,
            DoubleStream.generate(() -> Double.POSITIVE_INFINITY).limit(4900).toArray()));
        cases.add(unscale("after an overflow elsewhere", 1000, 65536, 1));
        cases.add(unscale("with a scale below 1 that makes a number infinite", 1000, 0x1p-10, 0, Float.MAX_VALUE));

        advance(cases);
        return cases;
    }

    private static void advance(List<ContractCase> cases) {
        // steps, overflow, scale, good steps, skipped
        cases.add(advance("of a good step", SCALING, control(7, 0, 1024, 1, 2), control(8, 0, 1024, 2, 2)));
        cases.add(advance("of the first step", SCALING, control(0, 0, 65536, 0, 0), control(1, 0, 65536, 1, 0)));
        cases.add(advance("on overflow", SCALING, control(7, 1, 1024, 2, 2), control(7, 1, 512, 0, 3)));
        cases.add(advance("at the interval", SCALING, control(7, 0, 1024, 2, 2), control(8, 0, 2048, 0, 2)));
        cases.add(advance("to no infinite scale", SCALING, control(7, 0, 0x1p127, 2, 2),
            control(8, 0, 0x1p127, 0, 2)));
        cases.add(advance("to the largest scale", SCALING, control(7, 0, 0x1p126, 2, 2),
            control(8, 0, 0x1p127, 0, 2)));
        cases.add(advance("by PyTorch's defaults", LossScaling.DYNAMIC, control(1998, 0, 65536, 1998, 0),
            control(1999, 0, 65536, 1999, 0)));
        cases.add(advance("by PyTorch's defaults at the interval", LossScaling.DYNAMIC,
            control(1999, 0, 65536, 1999, 0), control(2000, 0, 131_072, 0, 0)));
        cases.add(advance("without scaling", LossScaling.NONE, control(7, 0, 1, 7, 0), control(8, 0, 1, 8, 0)));
        cases.add(advance("on overflow without scaling", LossScaling.NONE, control(7, 1, 1, 7, 0),
            control(7, 1, 1, 0, 1)));
        cases.add(advance("with the largest loss", SCALING, Double.MAX_VALUE, control(7, 0, 1024, 1, 2),
            control(8, 0, 1024, 2, 2)));
        for (double loss : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            nonFinite(cases, loss);
        }
        cases.add(advance("after a halt", SCALING, LOSS, halted(7, 0, 1024, 2, 2), halted(7, 1, 1024, 2, 2)));
        cases.add(advance("on overflow after a halt", SCALING, LOSS, halted(7, 1, 1024, 2, 2),
            halted(7, 1, 1024, 2, 2)));
        cases.add(advance("of a good step that could not halt", SCALING, LOSS, unstoppable(7, 0, 1024, 2, 2),
            unstoppable(8, 0, 2048, 0, 2)));
    }

    private static void nonFinite(List<ContractCase> cases, double loss) {
        cases.add(advance("with loss " + loss, SCALING, loss, control(7, 0, 1024, 2, 2),
            halted(7, 1, 1024, 2, 2)));
        cases.add(advance("with loss " + loss + " on overflow", SCALING, loss, control(7, 1, 1024, 2, 2),
            halted(7, 1, 1024, 2, 2)));
        cases.add(advance("with loss " + loss + " after a halt", SCALING, loss, halted(7, 0, 1024, 2, 2),
            halted(7, 1, 1024, 2, 2)));
        cases.add(advance("with loss " + loss + " that is skipped", SCALING, loss, unstoppable(7, 0, 1024, 2, 2),
            unstoppable(7, 1, 512, 0, 3)));
    }

    private static ContractCase unscale(String variant, int n, double scale, double flag, double... last) {
        return unscale(variant, n, scale, 1, flag, last);
    }

    /** @param last the last elements of the gradient, where it overflows */
    private static ContractCase unscale(String variant, int n, double scale, double divisor, double flag,
        double[] last) {
        return new ContractCase("unscale", OperandTypes.SINGLE.with(DType.F64, "overflow", "scale"), variant, bench -> {
            double[] values = bench.random("gradient", n);
            System.arraycopy(last, 0, values, n - last.length, last.length);
            GuardedTensor gradient = bench.inOut("gradient", values, n);
            GuardedTensor overflow = bench.inOut("overflow", new double[] {flag}, 1);
            GuardedTensor scaling = bench.input("scale", new double[] {scale}, 1);
            bench.ops().updates().unscale(gradient.tensor(), overflow.tensor(), scaling.tensor(), divisor);
            bench.expect(gradient, ReferenceOps.unscaled(gradient.values(), scale * divisor));
            bench.expect(overflow, ExpectedTensor.exactly(new double[] {last.length == 0 ? flag : 1}));
        });
    }

    private static double[] control(double steps, double overflow, double scale, double goodSteps, double skipped) {
        return new double[] {RATE, steps, overflow, scale, goodSteps, skipped, StepControl.ARMED};
    }

    private static double[] halted(double steps, double overflow, double scale, double goodSteps, double skipped) {
        return new double[] {RATE, steps, overflow, scale, goodSteps, skipped, StepControl.HALTED};
    }

    private static double[] unstoppable(double steps, double overflow, double scale, double goodSteps,
        double skipped) {
        return new double[] {RATE, steps, overflow, scale, goodSteps, skipped, StepControl.NEVER_HALTS};
    }

    private static ContractCase advance(String variant, LossScaling scaling, double[] before, double[] after) {
        return advance(variant, scaling, LOSS, before, after);
    }

    private static ContractCase advance(String variant, LossScaling scaling, double loss, double[] before,
        double[] after) {
        return new ContractCase("advance", OperandTypes.SINGLE.with(DType.F64, "control", "loss"), variant, bench -> {
            GuardedTensor control = bench.inOut("control", before, StepControl.SIZE);
            GuardedTensor losses = bench.input("loss", new double[] {loss}, 1);
            bench.ops().updates().advance(control.tensor(), losses.tensor(), scaling);
            bench.expect(control, ExpectedTensor.exactly(after));
        });
    }
}
