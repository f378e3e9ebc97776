package org.isobar.exercise;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.isobar.exercise.api.LearningRateRules;
import org.isobar.optim.LearningRateSchedule;

/** Compares learning-rate rules with the presets of the tutorial, and a warm-up with that of training. */
final class LargeBatchCheck {
    /** Largest rates of presets bs16_opt to bs2048_opt by batch size. */
    static final Map<Integer, Double> PRESETS = presets();
    private static final double ROUNDED = 3e-3; // the presets have three digits
    private static final double EXACT = 1e-9;

    private LargeBatchCheck() { }

    private static Map<Integer, Double> presets() {
        Map<Integer, Double> rates = new LinkedHashMap<>();
        double[] listed = {5.0e-4, 7.07e-4, 1.0e-3, 1.41e-3, 2.0e-3, 2.83e-3, 4.0e-3, 5.66e-3};
        for (int i = 0; i < listed.length; i++) {
            rates.put(16 << i, listed[i]);
        }
        return Map.copyOf(rates);
    }

    static void run(Answer answer) {
        LearningRateRules rules = answer.as(LearningRateRules.class);
        List<String> wrong = RankThreads.alone(answer, given -> {
            List<String> found = new ArrayList<>();
            rules(given, rules, found);
            schedule(given, rules, found);
            return found;
        });
        if (!wrong.isEmpty()) {
            throw new WrongAnswerException(wrong);
        }
    }

    private static void rules(Answer answer, LearningRateRules rules, List<String> wrong) {
        for (int times : new int[] {8, 2}) {
            double rate = answer.call("linear", () -> rules.linear(5e-4, 16, 16 * times));
            expect("linear(5e-4, 16, " + 16 * times + ")", rate, 5e-4 * times, EXACT, "", wrong);
        }
        PRESETS.keySet().stream().sorted().forEach(batch -> {
            double rate = answer.call("squareRoot", () -> rules.squareRoot(5e-4, 16, batch));
            expect("squareRoot(5e-4, 16, " + batch + ")", rate, PRESETS.get(batch), ROUNDED,
                ", as preset bs" + batch + "_opt has", wrong);
        });
        double smaller = answer.call("squareRoot", () -> rules.squareRoot(4e-3, 64, 16));
        expect("squareRoot(4e-3, 64, 16)", smaller, 2e-3, EXACT, "", wrong);
    }

    private static void schedule(Answer answer, LearningRateRules rules, List<String> wrong) {
        for (int warmup : new int[] {0, 10}) {
            LearningRateSchedule training = new LearningRateSchedule.Cosine(1e-3, 100, warmup);
            for (int step : new int[] {0, 1, 8, 9, 10, 50, 99}) {
                double rate = answer.call("atStep", () -> rules.atStep(1e-3, step, warmup, 100));
                expect("atStep(1e-3, " + step + ", " + warmup + ", 100)", rate, training.at(step), EXACT, "", wrong);
            }
        }
    }

    private static void expect(String call, double actual, double expected, double tolerance, String as,
        List<String> wrong) {
        if (!(Math.abs(actual / expected - 1) <= tolerance)) {
            wrong.add(call + " is " + Digits.number(actual) + ", and must be " + Digits.number(expected) + as);
        }
    }
}
