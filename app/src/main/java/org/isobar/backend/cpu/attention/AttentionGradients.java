package org.isobar.backend.cpu.attention;

import org.isobar.backend.cpu.onednn.MatmulCache;
import org.isobar.backend.cpu.parallel.BlockedRange;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * The matrix products of attention's backward pass, block by block: two that compute a tile, and three that use one.
 * Tiles are transposed, (keys, queries).
 */
final class AttentionGradients {
    private final AttentionBlocks blocks;
    private final Tensors tensors;
    private final AttentionOperand[] byQueries;
    private final AttentionOperand keys;
    private final AttentionProduct scores;
    private final AttentionProduct dWeights;
    private final AttentionProduct dKeys;
    private final AttentionProduct dValues;
    private final AttentionProduct dQueries;

    /**
     * Inputs and outputs.
     *
     * @param dq   (B, Tq, H, D)
     * @param dkv  (B, Tk, 2, H, D)
     * @param dOut (B, Tq, H, D)
     * @param q    (B, Tq, H, D)
     * @param kv   (B, Tk, 2, H, D)
     * @param out  (B, Tq, H, D)
     * @param lse  (B, H, Tq)
     */
    record Tensors(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse) { }

    /**
     * Compiles the products.
     *
     * @param byQueries addresses of four packed operands, each for all queries
     * @param keys      address of one packed operand for all keys
     */
    AttentionGradients(MatmulCache matmuls, AttentionBlocks blocks, Tensors tensors, long[] byQueries,
        long keys) {
        this.blocks = blocks;
        this.tensors = tensors;
        AttentionShape shape = blocks.shape();
        DType dtype = tensors.q().dtype();
        AttentionOperand.Source q = (head, block) -> blocks.queries(tensors.q(), head, block);
        AttentionOperand.Source dOut = (head, block) -> blocks.queries(tensors.dOut(), head, block);
        AttentionOperand.Source[] sources = {q.transposed(), q, dOut.transposed(), dOut};
        this.byQueries = new AttentionOperand[sources.length];
        for (int i = 0; i < sources.length; i++) {
            this.byQueries[i] = new AttentionOperand(matmuls, shape.headDim(), sources[i], blocks.queries(),
                new AttentionOperand.Left(blocks.keys(), false), byQueries[i]);
        }
        this.keys = new AttentionOperand(matmuls, shape.headDim(),
            (head, block) -> blocks.keys(tensors.kv(), head, block), blocks.keys(),
            new AttentionOperand.Left(blocks.queries(), true), keys);
        Matrix rows = blocks.keys(tensors.kv(), 0, 0);
        Matrix tile = new Matrix(DType.F32, 0, blocks.queries().side(), false);
        Matrix operand = new Matrix(dtype, 0, blocks.queries().side(), false);
        Matrix sums = new Matrix(DType.F32, 0, shape.headDim(), false);
        BlockedRange cut = blocks.keys();
        scores = new AttentionProduct(matmuls, cut, this.byQueries[0], rows, tile, WriteMode.OVERWRITE);
        dKeys = new AttentionProduct(matmuls, cut, this.byQueries[1], operand, sums, WriteMode.values());
        dWeights = new AttentionProduct(matmuls, cut, this.byQueries[2], rows, tile, WriteMode.OVERWRITE);
        dValues = new AttentionProduct(matmuls, cut, this.byQueries[3], operand, sums, WriteMode.values());
        dQueries = new AttentionProduct(matmuls, blocks.queries(), this.keys, operand.transpose(), sums,
            WriteMode.values());
    }

    /** Packs the operands of one block of queries. */
    void packQueries(int worker, int head, int block) {
        for (AttentionOperand operand : byQueries) {
            operand.pack(worker, head, block);
        }
    }

    /** Packs the operand of one block of keys. */
    void packKeys(int worker, int head, int block) {
        keys.pack(worker, head, block);
    }

    /** Computes {@code to = k q^T}. */
    void scores(int worker, Matrix to, int head, int queryBlock, int keyBlock) {
        scores.run(worker, to, blocks.keys(tensors.kv(), head, keyBlock), keyBlock, head, queryBlock,
            WriteMode.OVERWRITE);
    }

    /** Computes {@code to = v dOut^T}. */
    void dWeights(int worker, Matrix to, int head, int queryBlock, int keyBlock) {
        dWeights.run(worker, to, blocks.values(tensors.kv(), head, keyBlock), keyBlock, head, queryBlock,
            WriteMode.OVERWRITE);
    }

    /** Computes {@code to = tile q} or {@code to += tile q}; {@code to} is (keys, D). */
    void dKeys(int worker, Matrix to, Matrix tile, int head, int queryBlock, int keyBlock, WriteMode write) {
        dKeys.run(worker, to, tile, keyBlock, head, queryBlock, write);
    }

    /** Computes {@code to = tile dOut} or {@code to += tile dOut}; {@code to} is (keys, D). */
    void dValues(int worker, Matrix to, Matrix tile, int head, int queryBlock, int keyBlock, WriteMode write) {
        dValues.run(worker, to, tile, keyBlock, head, queryBlock, write);
    }

    /** Computes {@code to = tile^T k} or {@code to += tile^T k}; {@code to} is (queries, D). */
    void dQueries(int worker, Matrix to, Matrix tile, int head, int queryBlock, int keyBlock, WriteMode write) {
        dQueries.run(worker, to, tile.transpose(), queryBlock, head, keyBlock, write);
    }
}
