package org.isobar.config;

import static org.isobar.config.keys.Keys.DATA;
import static org.isobar.config.keys.Keys.LAUNCH;
import static org.isobar.config.keys.Keys.MODEL;
import static org.isobar.config.keys.Keys.RUN;
import static org.isobar.config.keys.Keys.TRAINING;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;
import org.isobar.config.keys.Settings;

/**
 * Checks of combinations of values. Each throws a {@link org.isobar.fault.UserException} that names the keys, values
 * and a remedy.
 */
final class Consistency {
    private Consistency() { }

    static void checkModel(Settings settings) {
        int embedDim = settings.get(MODEL.embedDim);
        if (embedDim % settings.get(MODEL.numHeads) != 0) {
            throw settings.fail(settings.describe(MODEL.numHeads) + ", but " + settings.describe(MODEL.embedDim)
                + " and the heads share it evenly; num_heads can be " + divisors(List.of(embedDim)) + ".");
        }
        int patch = settings.get(MODEL.patchSize);
        List<Integer> image = settings.get(MODEL.imgSize);
        if (image.getFirst() < 2) {
            throw settings.fail(settings.describe(MODEL.imgSize) + ", but rows have latitudes of "
                + "90 - 180 j / (H - 1) degrees; it needs two rows or more.");
        }
        if (image.stream().anyMatch(side -> side % patch != 0)) {
            throw settings.fail(settings.describe(MODEL.imgSize) + ", which patches of " + patch + " x " + patch
                + " do not cover exactly: " + settings.describe(MODEL.patchSize) + "; it can be "
                + divisors(image) + ".");
        }
        if (settings.get(DATA.nOutChannels) > settings.get(DATA.nInChannels)) {
            throw settings.fail(settings.describe(DATA.nOutChannels) + ", but "
                + settings.describe(DATA.nInChannels) + ": the forecast variables are the first "
                + "n_out_channels of the input variables; lower n_out_channels or raise n_in_channels.");
        }
    }

    /** The data-parallel ranks must be able to share a global batch, in micro-batches of equal size. */
    static void checkBatch(Settings settings, BatchShares shares) {
        boolean uneven = settings.get(TRAINING.globalBatchSize) % shares.count() != 0;
        if (uneven && settings.get(TRAINING.localBatchSize).isEmpty()) {
            throw settings.fail(settings.describe(TRAINING.globalBatchSize) + ", which " + shares
                + " cannot share evenly; make it a multiple of " + shares.count() + ", or set --local_batch_size.");
        }
    }

    /** Tensor parallelism splits heads evenly; context parallelism needs at least one token per rank. */
    static void checkCuts(Settings settings) {
        int tensor = settings.get(LAUNCH.tensorParallel);
        int heads = settings.get(MODEL.numHeads);
        if (heads % tensor != 0) {
            throw settings.fail(settings.describe(LAUNCH.tensorParallel) + ", but " + settings.describe(MODEL.numHeads)
                + " and each tensor-parallel rank gets the same number of heads; tensor_parallel can be "
                + divisors(List.of(heads)) + ".");
        }
        int patch = settings.get(MODEL.patchSize);
        int tokens = settings.get(MODEL.imgSize).stream().mapToInt(side -> side / patch).reduce(1, (a, b) -> a * b);
        if (settings.get(LAUNCH.contextParallel) > tokens) {
            throw settings.fail(settings.describe(LAUNCH.contextParallel) + ", but an image has " + tokens
                + " tokens; it can be at most that.");
        }
    }

    /** Rejects keys whose feature does not exist yet. */
    static void checkSupported(Settings settings) {
        if (settings.get(LAUNCH.pipelineParallel) > 1) {
            throw settings.fail(settings.describe(LAUNCH.pipelineParallel)
                + ", but pipeline stages are not supported yet; leave it at 1.");
        }
    }

    /** Rejects CUDA graphs where steps cannot be captured. */
    static void checkGraphs(Settings settings, int worldSize) {
        if (!settings.get(TRAINING.enableCudaGraphs) || settings.get(RUN.device) == Backend.CPU) {
            return;
        }
        GraphObstacle.of(settings.get(MODEL.dropout), settings.get(LAUNCH.commBackend), worldSize)
            .ifPresent(obstacle -> {
                throw settings.fail(settings.describe(TRAINING.enableCudaGraphs) + ", but " + switch (obstacle) {
                    case DROPOUT -> settings.describe(MODEL.dropout) + ": " + obstacle.reason()
                        + "; set dropout to 0 or remove enable_cuda_graphs.";
                    case HOST_COLLECTIVES -> settings.describe(LAUNCH.commBackend) + ": " + obstacle.reason()
                        + "; remove one of them.";
                });
            });
    }

    /** The backend of collectives must support the device. */
    static void checkCommBackend(Settings settings) {
        if (settings.get(LAUNCH.commBackend) == CommBackend.NCCL && settings.get(RUN.device) == Backend.CPU) {
            throw settings.fail(settings.describe(LAUNCH.commBackend) + ", but " + settings.describe(RUN.device)
                + ", and NCCL connects GPUs; use --comm_backend auto or host.");
        }
    }

    /** The common divisors of {@code numbers}, at most twelve. */
    private static String divisors(List<Integer> numbers) {
        List<String> all = IntStream.rangeClosed(1, numbers.stream().min(Integer::compare).orElseThrow())
            .filter(divisor -> numbers.stream().allMatch(number -> number % divisor == 0))
            .mapToObj(Integer::toString)
            .toList();
        return all.stream().limit(12).collect(Collectors.joining(", ")) + (all.size() > 12 ? " and so on" : "");
    }
}
