package org.isobar.train;

/** The losses of an epoch's steps, summed up in their order. */
final class LossSum {
    private double sum;
    private int count;

    /** A sum that has begun already. */
    LossSum(double sum, int count) {
        this.sum = sum;
        this.count = count;
    }

    void add(double loss) {
        sum += loss;
        count++;
    }

    void clear() {
        sum = 0;
        count = 0;
    }

    double sum() {
        return sum;
    }

    int count() {
        return count;
    }

    double mean() {
        return sum / count;
    }
}
