package org.isobar.config;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.backend.Backend;
import org.isobar.backend.CommBackend;

/** What no single value can be blamed for: combinations that no run can have. Every check throws a UserException. */
final class Consistency {
    private Consistency() { }

    static void checkModel(Settings settings) {
        int embedDim = settings.get(Keys.EMBED_DIM);
        if (embedDim % settings.get(Keys.NUM_HEADS) != 0) {
            throw settings.fail(settings.describe(Keys.NUM_HEADS) + ", but " + settings.describe(Keys.EMBED_DIM)
                + " and the heads share it evenly; num_heads can be " + divisors(List.of(embedDim)) + ".");
        }
        int patch = settings.get(Keys.PATCH_SIZE);
        List<Integer> image = settings.get(Keys.IMG_SIZE);
        if (image.stream().anyMatch(side -> side % patch != 0)) {
            throw settings.fail(settings.describe(Keys.IMG_SIZE) + ", which patches of " + patch + " x " + patch
                + " do not cover exactly: " + settings.describe(Keys.PATCH_SIZE) + "; it can be "
                + divisors(image) + ".");
        }
        if (settings.get(Keys.N_OUT_CHANNELS) > settings.get(Keys.N_IN_CHANNELS)) {
            throw settings.fail(settings.describe(Keys.N_OUT_CHANNELS) + ", but "
                + settings.describe(Keys.N_IN_CHANNELS) + ": the variables that are forecast are the first "
                + "n_out_channels of those that are read; lower n_out_channels or raise n_in_channels.");
        }
    }

    /** The data-parallel ranks must be able to share a global batch. */
    static void checkBatch(Settings settings, int replicas) {
        boolean uneven = settings.get(Keys.GLOBAL_BATCH_SIZE) % replicas != 0;
        if (uneven && settings.get(Keys.LOCAL_BATCH_SIZE).isEmpty()) {
            throw settings.fail(settings.describe(Keys.GLOBAL_BATCH_SIZE) + ", which " + replicas
                + " data-parallel ranks cannot share evenly; make it a multiple, or set --local_batch_size.");
        }
    }

    /** Tensor parallelism cuts heads and hidden units evenly; context parallelism needs a token for each rank. */
    static void checkCuts(Settings settings) {
        int tensor = settings.get(Keys.TENSOR_PARALLEL);
        int heads = settings.get(Keys.NUM_HEADS);
        if (heads % tensor != 0) {
            throw settings.fail(settings.describe(Keys.TENSOR_PARALLEL) + ", but " + settings.describe(Keys.NUM_HEADS)
                + " and each tensor-parallel rank takes as many heads; tensor_parallel can be "
                + divisors(List.of(heads)) + ".");
        }
        int patch = settings.get(Keys.PATCH_SIZE);
        int tokens = settings.get(Keys.IMG_SIZE).stream().mapToInt(side -> side / patch).reduce(1, (a, b) -> a * b);
        if (settings.get(Keys.CONTEXT_PARALLEL) > tokens) {
            throw settings.fail(settings.describe(Keys.CONTEXT_PARALLEL) + ", but an image has " + tokens
                + " tokens; it can be at most that.");
        }
    }

    /** Refuses what later versions will do: saying so beats pretending. */
    static void checkBuilt(Settings settings) {
        if (settings.get(Keys.PIPELINE_PARALLEL) > 1) {
            throw settings.fail(settings.describe(Keys.PIPELINE_PARALLEL)
                + ", but training knows no pipeline stages yet; leave it at 1.");
        }
    }

    /** A captured step keeps the masks of the step that was captured, and cannot hold work of the host. */
    static void checkGraphs(Settings settings, int worldSize) {
        if (!settings.get(Keys.ENABLE_CUDA_GRAPHS) || settings.get(Keys.DEVICE) == Backend.CPU) {
            return;
        }
        String asked = settings.describe(Keys.ENABLE_CUDA_GRAPHS) + ", but ";
        if (settings.get(Keys.DROPOUT) > 0) {
            throw settings.fail(asked + settings.describe(Keys.DROPOUT)
                + ": a graph would drop the same in every step; set dropout to 0, or leave enable_cuda_graphs out.");
        }
        if (worldSize > 1 && settings.get(Keys.COMM_BACKEND) == CommBackend.HOST) {
            throw settings.fail(asked + settings.describe(Keys.COMM_BACKEND)
                + ": a graph holds no collectives that go through the host; leave one of them out.");
        }
    }

    /** What carries collectives must fit the device. */
    static void checkCarrier(Settings settings) {
        if (settings.get(Keys.COMM_BACKEND) == CommBackend.NCCL && settings.get(Keys.DEVICE) == Backend.CPU) {
            throw settings.fail(settings.describe(Keys.COMM_BACKEND) + ", but " + settings.describe(Keys.DEVICE)
                + ", and NCCL connects GPUs; use --comm_backend auto or host.");
        }
    }

    /** The common divisors, the first dozen of them. */
    private static String divisors(List<Integer> numbers) {
        List<String> all = IntStream.rangeClosed(1, numbers.stream().min(Integer::compare).orElseThrow())
            .filter(divisor -> numbers.stream().allMatch(number -> number % divisor == 0))
            .mapToObj(Integer::toString)
            .toList();
        return all.stream().limit(12).collect(Collectors.joining(", ")) + (all.size() > 12 ? " and so on" : "");
    }
}
