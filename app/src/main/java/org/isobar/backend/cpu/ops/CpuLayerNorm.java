package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.vector.Lanes.slice;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

import org.isobar.backend.cpu.parallel.ChunkedRange;
import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;
import org.isobar.backend.cpu.vector.FloatView;
import org.isobar.backend.cpu.vector.Lanes;
import org.isobar.backend.cpu.vector.WorkerScratch;
import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.NormOps;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.HostStorage;
import org.isobar.tensor.Tensor;

/** Layer normalization (Ba, Kiros, Hinton, 2016) and its gradients. */
final class CpuLayerNorm implements NormOps {
    private final WorkerPool pool;
    private final CpuWorkspace workspace;
    private final CpuResidual residual;
    private final CpuProducts products;

    CpuLayerNorm(WorkerPool pool, CpuWorkspace workspace, CpuResidual residual, CpuProducts products) {
        this.pool = pool;
        this.workspace = workspace;
        this.residual = residual;
        this.products = products;
    }

    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        NormalizedRows rows = rows(y, x, mean, invStd, gamma, beta);
        ChunkedRange.run(pool, x.shape().rows(), rows.chunk(), (worker, from, to) -> {
            rows.measure(from, to, epsilon);
            rows.normalize(worker, from, to);
        });
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        NormalizedRows rows = rows(y, x, mean, invStd, gamma, beta);
        ChunkedRange.run(pool, x.shape().rows(), rows.chunk(), rows::normalize);
    }

    /** Normalizes rows of the sum while they are in cache. */
    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath,
        Tensor gamma, Tensor beta, double epsilon) {
        NormalizedRows rows = rows(y, z, mean, invStd, gamma, beta);
        MemorySegment xs = HostStorage.of(x);
        FloatView branches = FloatView.of(branch);
        long batch = x.shape().extent(0);
        long sample = x.shape().rows() / batch;
        ChunkedRange.run(pool, batch, sample, rows.chunk(), (worker, b, first, end) -> {
            float mask = CpuResidual.mask(dropPath, b);
            long from = b * sample + first;
            long to = b * sample + end;
            long width = rows.width();
            MemorySegment term = branches.read(rows.scratch().row(worker, 0), from * width, to * width);
            CpuResidual.addScaled(rows.x(from, to), slice(xs, from * width, to * width), term, mask);
            rows.measure(from, to, epsilon);
            rows.normalize(worker, from, to);
        });
    }

    /** Computes the gradients of the branch and of its bias in a pass each. */
    @Override
    public void residualLayerNormBackward(Tensor dz, BiasedGradient dBranch, Tensor dGamma, Tensor dBeta, Tensor dy,
        Tensor z, Tensor mean, Tensor invStd, Tensor gamma, Optional<RecomputedNorm> output) {
        layerNormBackward(dz, dGamma, dBeta, dy, z, mean, invStd, gamma, WriteMode.ADD, output);
        residual.residualBackward(dBranch.gradient(), dz, dBranch.dropPath());
        products.biasBackward(dBranch.dBias(), dBranch.gradient());
    }

    private NormalizedRows rows(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        FloatView ys = FloatView.of(y);
        long chunk = Math.max(gamma.elements(), ys.chunk());
        return new NormalizedRows(ys, HostStorage.of(x), HostStorage.of(mean), HostStorage.of(invStd),
            HostStorage.of(gamma), HostStorage.of(beta), WorkerScratch.of(workspace, pool, 1, ys.scratch(chunk)));
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write, Optional<RecomputedNorm> output) {
        int width = Math.toIntExact(x.shape().extent(-1));
        long rows = x.shape().rows();
        long length = Math.max(Math.ceilDiv(rows, CpuWorkspace.CHUNKS), Math.ceilDiv(ChunkedRange.ELEMENTS, width));
        int chunks = ChunkedRange.count(rows, length);
        FloatView dys = FloatView.of(dy);
        long group = Math.max(1, dys.chunk() / width);
        // Layout: for each chunk of rows, the partial sums of dGamma followed by those of dBeta; then scratch rows of
        // each worker.
        long sumsEnd = 2L * chunks * width;
        long scratchLength = dys.scratch(group * width);
        MemorySegment memory = workspace.floats(sumsEnd + pool.threads() * scratchLength);
        MemorySegment sums = slice(memory, 0, sumsEnd);
        WorkerScratch scratch = new WorkerScratch(slice(memory, sumsEnd, Lanes.count(memory)), 1, scratchLength);
        LayerNormGradientRows gradients = new LayerNormGradientRows(HostStorage.of(dx), dys, HostStorage.of(x),
            HostStorage.of(mean), HostStorage.of(invStd), HostStorage.of(gamma), write, scratch);
        Optional<NormalizedRows> normalized = output.map(norm -> new NormalizedRows(FloatView.of(norm.y()),
            gradients.xs(), gradients.means(), gradients.invStds(), gradients.gamma(), HostStorage.of(norm.beta()),
            scratch));
        ChunkedRange.run(pool, rows, length, (worker, from, to) -> {
            long chunk = from / length;
            MemorySegment partial = slice(sums, 2 * chunk * width, 2 * (chunk + 1) * width);
            partial.fill((byte) 0);
            for (long first = from; first < to; first += group) {
                long end = Math.min(to, first + group);
                gradients.run(worker, first, end, partial);
                if (normalized.isPresent()) {
                    normalized.get().normalize(worker, first, end);
                }
            }
        });
        addUp(HostStorage.of(dGamma), sums, 0, chunks);
        addUp(HostStorage.of(dBeta), sums, width, chunks);
    }

    /**
     * Adds the partial sums of all chunks to {@code total}, and changes those of the first one. They start at {@code
     * offset} floats within each chunk's sums.
     */
    private static void addUp(MemorySegment total, MemorySegment sums, int offset, int chunks) {
        int width = Lanes.count(total);
        MemorySegment first = slice(sums, offset, offset + width);
        for (int chunk = 1; chunk < chunks; chunk++) {
            long at = 2L * chunk * width + offset;
            CpuProducts.add(first, slice(sums, at, at + width));
        }
        CpuProducts.add(total, first);
    }
}
