package org.isobar.exercise;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.exercise.api.GradientOverlap;
import org.isobar.exercise.api.RankGroup;
import org.isobar.tensor.Tensor;

/** Checks the means of gradients, and that each sum starts when its bucket is ready and is awaited at the end. */
final class OverlapCheck {
    private static final int RANKS = 2;
    private static final int BUCKETS = 4;
    private static final int DURING_FINISH = -1;

    private OverlapCheck() { }

    /** Records in which call of the reader's code the sums of a rank were started and awaited. */
    private static final class CallRecorder implements RecordingCommunicator.Recorder {
        private final int[] started = new int[BUCKETS]; // by bucket: the bucket whose ready started it
        private final List<String> early = Collections.synchronizedList(new ArrayList<>());
        private int now;

        @Override
        public void opened(ProcessGroup group) {
            Arrays.fill(started, Integer.MIN_VALUE);
        }

        @Override
        public void issued(ProcessGroup group, CollectiveCall call, Tensor tensor) {
            if (bucketOf(call) < BUCKETS) {
                started[bucketOf(call)] = now;
            }
        }

        @Override
        public void awaited(ProcessGroup group, CollectiveCall call) {
            if (now != DURING_FINISH) {
                early.add("ready(" + now + ") waits for bucket " + bucketOf(call)
                    + ": backward stands still meanwhile; wait in finish");
            }
        }
    }

    /** The buckets have different sizes. */
    private static int size(int bucket) {
        return 2 + bucket;
    }

    private static int bucketOf(CollectiveCall call) {
        return (int) Math.min(BUCKETS, Math.max(0, call.elements() - 2));
    }

    /** One number for each rank, bucket and place; the mean over ranks is exact. */
    private static float gradient(int rank, int bucket, int place) {
        return 8 * bucket + place + 100 * rank;
    }

    static void run(Answer answer) {
        answer.as(GradientOverlap.class);
        List<CallRecorder> recorders = IntStream.range(0, RANKS).mapToObj(_ -> new CallRecorder()).toList();
        new RankThreads(answer, RANKS, issuer ->
            new RecordingCommunicator(issuer, recorders.get(issuer.group().index())))
            .run(group -> step(answer, group, recorders.get(group.rank())));
    }

    private static boolean step(Answer answer, RankGroup group, CallRecorder recorder) {
        GradientOverlap overlap = answer.as(GradientOverlap.class);
        float[][] gradients = new float[BUCKETS][];
        for (int bucket = BUCKETS - 1; bucket >= 0; bucket--) {
            int each = bucket;
            gradients[bucket] = new float[size(bucket)];
            IntStream.range(0, size(bucket)).forEach(place ->
                gradients[each][place] = gradient(group.rank(), each, place));
            recorder.now = bucket;
            answer.run("ready(" + bucket + ")", () -> overlap.ready(each, gradients[each], group));
        }
        recorder.now = DURING_FINISH;
        answer.run("finish", overlap::finish);
        List<String> wrong = new ArrayList<>(recorder.early);
        for (int bucket = BUCKETS - 1; bucket >= 0; bucket--) {
            timely(bucket, recorder.started[bucket], wrong);
            means(bucket, gradients[bucket], wrong);
        }
        if (!wrong.isEmpty()) {
            throw new WrongAnswerException(wrong);
        }
        return true;
    }

    private static void timely(int bucket, int started, List<String> wrong) {
        if (started == Integer.MIN_VALUE) {
            wrong.add("the sum of bucket " + bucket + " was never started");
        } else if (started != bucket) {
            wrong.add("the sum of bucket " + bucket + " was started in "
                + (started == DURING_FINISH ? "finish" : "ready(" + started + ")") + ", and must be started in ready("
                + bucket + "), while backward computes the next bucket");
        }
    }

    private static void means(int bucket, float[] actual, List<String> wrong) {
        for (int place = 0; place < actual.length; place++) {
            float mean = (gradient(0, bucket, place) + gradient(1, bucket, place)) / RANKS;
            if (actual[place] != mean) {
                wrong.add("after finish, gradient " + place + " of bucket " + bucket + " is "
                    + Digits.number(actual[place]) + ", and the mean over the ranks is " + Digits.number(mean)
                    + (actual[place] == RANKS * mean ? ": it is the sum" : ""));
                return;
            }
        }
    }
}
