package org.isobar.config;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.backend.Backend;

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

    /** Refuses what later versions will do: saying so beats pretending. */
    static void checkBuilt(Settings settings, int world) {
        for (Key<Integer> axis : List.of(Keys.TENSOR_PARALLEL, Keys.CONTEXT_PARALLEL)) {
            if (settings.get(axis) > 1) {
                throw settings.fail(settings.describe(axis) + ", but model parallelism is not built yet; "
                    + "leave it at 1.");
            }
        }
        if (world > 1) {
            throw settings.fail("WORLD_SIZE is " + world + ", but training in several processes is not built yet; "
                + "start one process, with WORLD_SIZE unset or 1.");
        }
        if (settings.get(Keys.DEVICE) == Backend.CUDA) {
            throw settings.fail(settings.describe(Keys.DEVICE)
                + ", but the CUDA back end is not built yet; use --device cpu.");
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
