package org.isobar.verify.reference;

import org.isobar.device.ops.PatchShape;

/** Patches, loss and score in double precision. */
public final class ReferenceImages {
    private ReferenceImages() { }

    /** For each value of the tokens, the index of its pixel. */
    static int[] pixels(PatchShape shape) {
        int c = (int) shape.channels();
        int h = (int) shape.height();
        int w = (int) shape.width();
        int side = shape.patch();
        int[] pixels = new int[Math.toIntExact(shape.batch() * shape.tokens() * shape.tokenSize())];
        for (int i = 0; i < pixels.length; i++) {
            int value = (int) (i % shape.tokenSize());
            int token = (int) (i / shape.tokenSize() % shape.tokens());
            int sample = (int) (i / shape.tokenSize() / shape.tokens());
            boolean channelFirst = shape.order() == PatchShape.Order.CHANNEL_FIRST;
            int channel = channelFirst ? value / (side * side) : value % c;
            int inPatch = channelFirst ? value % (side * side) : value / c;
            int row = token / (w / side) * side + inPatch / side;
            int column = token % (w / side) * side + inPatch % side;
            pixels[i] = ((sample * c + channel) * h + row) * w + column;
        }
        return pixels;
    }

    public static ExpectedTensor patchify(double[] image, PatchShape shape) {
        int[] pixels = pixels(shape);
        double[] tokens = new double[pixels.length];
        for (int i = 0; i < pixels.length; i++) {
            tokens[i] = image[pixels[i]];
        }
        return ExpectedTensor.exactly(tokens);
    }

    public static ExpectedTensor unpatchify(double[] tokens, PatchShape shape) {
        int[] pixels = pixels(shape);
        double[] image = new double[pixels.length];
        for (int i = 0; i < pixels.length; i++) {
            image[pixels[i]] = tokens[i];
        }
        return ExpectedTensor.exactly(image);
    }

    /** (B, 2): norm of the difference and of the target. */
    public static ExpectedTensor norms(double[] prediction, double[] target, int batch) {
        int sample = target.length / batch;
        double[] squares = new double[2 * batch];
        for (int i = 0; i < target.length; i++) {
            double difference = prediction[i] - target[i];
            squares[i / sample * 2] += difference * difference;
            squares[i / sample * 2 + 1] += target[i] * target[i];
        }
        ExpectedTensor norms = ExpectedTensor.sums(2 * batch, sample);
        for (int i = 0; i < squares.length; i++) {
            norms.add(i, Math.sqrt(squares[i]));
        }
        return norms;
    }

    public static ExpectedTensor loss(double[] norms, int sample) {
        ExpectedTensor loss = ExpectedTensor.sums(1, sample);
        for (int b = 0; b < norms.length / 2; b++) {
            loss.add(0, norms[2 * b] / norms[2 * b + 1] / (norms.length / 2));
        }
        return loss;
    }

    public static ExpectedTensor lossBackward(double[] prediction, double[] target, double[] norms, double scale) {
        int batch = norms.length / 2;
        int sample = target.length / batch;
        ExpectedTensor dPrediction = ExpectedTensor.sums(target.length, 2);
        for (int i = 0; i < target.length; i++) {
            double product = norms[i / sample * 2] * norms[i / sample * 2 + 1];
            double factor = product == 0 ? 0 : scale / batch / product;
            dPrediction.add(i, factor * (prediction[i] - target[i]),
                Math.abs(factor) * (Math.abs(prediction[i]) + Math.abs(target[i])));
        }
        return dPrediction;
    }

    /** Arrays are (B, C, H, W). */
    public static ExpectedTensor weightedRmse(double[] prediction, double[] target, int batch, int channels, int height,
        int width) {
        double cosines = 0;
        for (int j = 0; j < height; j++) {
            cosines += cosine(j, height);
        }
        ExpectedTensor rmse = ExpectedTensor.sums(channels, (long) height * width);
        for (int field = 0; field < batch * channels; field++) {
            double sum = 0;
            for (int i = 0; i < height * width; i++) {
                double difference = prediction[field * height * width + i] - target[field * height * width + i];
                sum += height * cosine(i / width, height) / cosines * difference * difference;
            }
            rmse.add(field % channels, Math.sqrt(sum / (height * width)) / batch);
        }
        return rmse;
    }

    private static double cosine(int j, int height) {
        return Math.cos(3.1416 / 180 * (90 - 180.0 * j / (height - 1)));
    }
}
