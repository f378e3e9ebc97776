package org.isobar.train;

/** Sum and number of the losses of an epoch's steps, added in the order of the steps. */
final class LossSum {
    private double sum;
    private int count;

    /** Starts from an earlier sum of {@code count} losses. */
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
