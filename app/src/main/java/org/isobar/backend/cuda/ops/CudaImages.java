package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelProvider;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.ops.ImageOps;
import org.isobar.device.ops.PatchShape;
import org.isobar.tensor.Tensor;

/** Converts images to tokens and back, adds position embeddings and normalizes images. */
final class CudaImages implements ImageOps {
    private static final String FILE = "patches.cu";
    private static final int THREADS = 256;
    /** Pixels of an image line per block, for the channel-last order. */
    private static final long STRETCH = 64;

    private final OpResources context;
    private final Map<PatchShape.Order, TypedKernel> patchify = new EnumMap<>(PatchShape.Order.class);
    private final Map<PatchShape.Order, TypedKernel> unpatchify = new EnumMap<>(PatchShape.Order.class);
    private final LoadedKernel addPositions;
    private final LoadedKernel addPositionsBackward;
    private final LoadedKernel normalize;

    CudaImages(OpResources context) {
        this.context = context;
        KernelProvider kernels = context.kernels();
        for (PatchShape.Order order : PatchShape.Order.values()) {
            patchify.put(order, new TypedKernel(kernels, FILE, "patchify_" + name(order)));
            unpatchify.put(order, new TypedKernel(kernels, FILE, "unpatchify_" + name(order)));
        }
        addPositions = kernels.kernel("positions.cu", "add_positions");
        addPositionsBackward = kernels.kernel("positions.cu", "add_positions_backward");
        normalize = kernels.kernel("normalize.cu", "normalize");
    }

    static List<KernelVariant> variants() {
        List<KernelVariant> variants = new ArrayList<>();
        for (PatchShape.Order order : PatchShape.Order.values()) {
            variants.addAll(TypedKernel.variants(FILE, "patchify_" + name(order)));
            variants.addAll(TypedKernel.variants(FILE, "unpatchify_" + name(order)));
        }
        variants.add(new KernelVariant("positions.cu", "add_positions", List.of()));
        variants.add(new KernelVariant("positions.cu", "add_positions_backward", List.of()));
        variants.add(new KernelVariant("normalize.cu", "normalize", List.of()));
        return variants;
    }

    @Override
    public void patchify(Tensor tokens, Tensor image, PatchShape shape) {
        launch(patchify.get(shape.order()).of(tokens.dtype()), tokens, image, shape);
    }

    @Override
    public void unpatchify(Tensor image, Tensor tokens, PatchShape shape) {
        launch(unpatchify.get(shape.order()).of(tokens.dtype()), image, tokens, shape);
    }

    private void launch(LoadedKernel kernel, Tensor to, Tensor from, PatchShape shape) {
        KernelLauncher launcher = context.launcher().call(kernel).tensor(to).tensor(from).int32(shape.channels())
            .int32(shape.height()).int32(shape.width()).int32(shape.patch());
        if (shape.order() == PatchShape.Order.CHANNEL_FIRST) {
            launcher.launch(shape.height() / shape.patch(), shape.channels(), shape.batch(), THREADS, 0);
        } else {
            launcher.launch(Math.ceilDiv(shape.width(), STRETCH), shape.height(), shape.batch(), THREADS, 0);
        }
    }

    @Override
    public void addPositions(Tensor y, Tensor x, Tensor positions) {
        long sample = positions.elements();
        context.launcher().call(addPositions).tensor(y).tensor(x).tensor(positions).int64(sample)
            .launch(ElementGrid.blocks(sample), x.elements() / sample, 1, ElementGrid.THREADS, 0);
    }

    @Override
    public void addPositionsBackward(Tensor dPositions, Tensor dy) {
        long sample = dPositions.elements();
        context.launcher().call(addPositionsBackward).tensor(dPositions).tensor(dy).int64(sample)
            .int32(dy.elements() / sample).launch(ElementGrid.blocks(sample), ElementGrid.THREADS);
    }

    @Override
    public void normalize(Tensor y, Tensor x, Tensor mean, Tensor std) {
        long fields = x.shape().extent(0) * x.shape().extent(1);
        long field = x.elements() / fields;
        long chunks = ElementGrid.blocks(field);
        context.launcher().call(normalize).tensor(y).tensor(x).tensor(mean).tensor(std).int64(field)
            .int32(x.shape().extent(1)).int32(chunks).launch(fields * chunks, ElementGrid.THREADS);
    }

    private static String name(PatchShape.Order order) {
        return order.name().toLowerCase(Locale.ROOT);
    }
}
