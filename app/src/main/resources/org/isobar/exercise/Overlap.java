import java.util.ArrayList;
import java.util.List;

import org.isobar.exercise.api.GradientOverlap;
import org.isobar.exercise.api.RankGroup;

/**
 * Averages gradients over dp. This version is right and slow: it waits until backward is done, and then sums bucket
 * after bucket.
 */
public final class Overlap implements GradientOverlap {
    private final List<float[]> buckets = new ArrayList<>();
    private RankGroup ranks;

    @Override
    public void ready(int bucket, float[] gradients, RankGroup dp) {
        // TODO: RankGroup.Started sum = dp.startAllReduce(gradients) starts the sum and returns at once. Start it here,
        // so that it runs while backward computes the next bucket, and keep what finish needs.
        ranks = dp;
        buckets.add(gradients);
    }

    @Override
    public void finish() {
        for (float[] gradients : buckets) {
            // TODO: nothing is left to start here; sum.await() waits for a sum. It must be divided into a mean.
            ranks.allReduce(gradients);
            for (int i = 0; i < gradients.length; i++) {
                gradients[i] /= ranks.size();
            }
        }
    }
}
