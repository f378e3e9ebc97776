package org.isobar.exercise;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

import org.isobar.exercise.api.FloatMatrix;
import org.isobar.exercise.api.TensorParallelPair;
import org.isobar.exercise.api.TensorParallelPair.Gradients;
import org.isobar.random.Philox;

/** Compares two linear layers, divided among two ranks, with the same layers on one rank. */
final class ColumnParallelCheck {
    private static final int RANKS = 2;
    private static final int BATCH = 3;
    private static final int INPUTS = 5;
    private static final int HIDDEN = 12;
    private static final int OUTPUTS = 4;
    private static final double TOLERANCE = 1e-5; // sums of at most 12 products in another order

    private ColumnParallelCheck() { }

    /** What the layers give on one rank. */
    private record PairResult(FloatMatrix y, Gradients gradients) { }

    static void run(Answer answer) {
        FloatMatrix x = random("x", BATCH, INPUTS);
        FloatMatrix dy = random("dy", BATCH, OUTPUTS);
        FloatMatrix w1 = random("w1", HIDDEN, INPUTS);
        FloatMatrix w2 = random("w2", OUTPUTS, HIDDEN);
        PairResult serial = serial(x, dy, w1, w2);
        TensorParallelPair pair = answer.as(TensorParallelPair.class);
        List<PairResult> ranks = new RankThreads(answer, RANKS, communicator -> communicator).run(group -> {
            FloatMatrix first = rows(w1, group.rank());
            FloatMatrix second = rows(w2.transposed(), group.rank()).transposed();
            FloatMatrix y = answer.call("forward", () -> pair.forward(copy(x), first, second, group));
            return new PairResult(y, answer.call("backward",
                () -> pair.backward(copy(dy), copy(x), first, second, group)));
        });
        List<String> wrong = new ArrayList<>();
        compare("forward: y", ranks, serial, PairResult::y, rank -> serial.y(), wrong);
        compare("backward: dx", ranks, serial, result -> result.gradients().dx(), rank -> serial.gradients().dx(),
            wrong);
        compare("backward: dw1", ranks, serial, result -> result.gradients().dw1(),
            rank -> rows(serial.gradients().dw1(), rank), wrong);
        compare("backward: dw2", ranks, serial, result -> result.gradients().dw2(),
            rank -> rows(serial.gradients().dw2().transposed(), rank).transposed(), wrong);
        if (!wrong.isEmpty()) {
            throw new WrongAnswerException(wrong);
        }
    }

    private static PairResult serial(FloatMatrix x, FloatMatrix dy, FloatMatrix w1, FloatMatrix w2) {
        FloatMatrix h = x.times(w1.transposed());
        FloatMatrix dh = dy.times(w2);
        return new PairResult(h.times(w2.transposed()),
            new Gradients(dh.times(w1), dh.transposed().times(x), dy.transposed().times(h)));
    }

    private static void compare(String what, List<PairResult> ranks, PairResult serial,
        Function<PairResult, FloatMatrix> part, Function<Integer, FloatMatrix> expected, List<String> wrong) {
        List<FloatMatrix> actual = ranks.stream().map(part).toList();
        for (int rank = 0; rank < RANKS; rank++) {
            String who = "rank " + rank + ": " + what;
            FloatMatrix right = expected.apply(rank);
            FloatMatrix given = actual.get(rank);
            if (given == null) {
                wrong.add(who + " is null");
            } else if (given.rows() != right.rows() || given.columns() != right.columns()) {
                wrong.add(who + " is " + given.size() + ", and must be " + right.size());
            } else {
                double error = largest(given, right);
                if (!(error <= TOLERANCE)) {
                    wrong.add(who + " differs from the serial layers' by up to " + Digits.number(error) + ": "
                        + worst(given, right) + reason(actual, right));
                }
            }
        }
    }

    private static double largest(FloatMatrix actual, FloatMatrix expected) {
        double error = 0;
        for (int i = 0; i < expected.values().length; i++) {
            double difference = Math.abs(actual.values()[i] - expected.values()[i]);
            error = difference <= error ? error : difference; // also NaN
        }
        return error;
    }

    private static String worst(FloatMatrix actual, FloatMatrix expected) {
        int worst = 0;
        for (int i = 0; i < expected.values().length; i++) {
            double difference = Math.abs(actual.values()[i] - expected.values()[i]);
            if (!(difference <= Math.abs(actual.values()[worst] - expected.values()[worst]))) {
                worst = i;
            }
        }
        return "[" + worst / expected.columns() + ", " + worst % expected.columns() + "] is "
            + Digits.number(actual.values()[worst]) + ", and must be " + Digits.number(expected.values()[worst]);
    }

    /** Says so if the ranks' matrices are the terms of the right sum, or each is a multiple of it. */
    private static String reason(List<FloatMatrix> actual, FloatMatrix expected) {
        if (actual.stream().anyMatch(each -> each == null || each.values().length != expected.values().length)) {
            return "";
        }
        FloatMatrix sum = FloatMatrix.zeros(expected.rows(), expected.columns());
        FloatMatrix multiple = FloatMatrix.zeros(expected.rows(), expected.columns());
        for (int i = 0; i < sum.values().length; i++) {
            for (FloatMatrix each : actual) {
                sum.values()[i] += each.values()[i];
            }
            multiple.values()[i] = RANKS * expected.values()[i];
        }
        if (largest(sum, expected) <= TOLERANCE) {
            return ". The sum over the ranks is right: it is missing";
        }
        return largest(actual.getFirst(), multiple) <= RANKS * TOLERANCE
            ? ". It is " + RANKS + " times the right value: equal terms were summed over the ranks" : "";
    }

    private static FloatMatrix random(String name, int rows, int columns) {
        return new FloatMatrix(rows, columns, Philox.normals(Philox.Key.of(1, name), rows * columns, 1));
    }

    private static FloatMatrix copy(FloatMatrix matrix) {
        return new FloatMatrix(matrix.rows(), matrix.columns(), matrix.values().clone());
    }

    /** The rows of a rank. */
    private static FloatMatrix rows(FloatMatrix whole, int rank) {
        FloatMatrix slice = FloatMatrix.zeros(whole.rows() / RANKS, whole.columns());
        System.arraycopy(whole.values(), rank * slice.values().length, slice.values(), 0, slice.values().length);
        return slice;
    }
}
