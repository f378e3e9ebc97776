package org.isobar.checkpoint;

import java.util.Arrays;
import java.util.List;

import org.isobar.distributed.Shard;

/**
 * What a rank tells rank 0, in a file beside its shard, when its share of a checkpoint is written or has failed.
 *
 * @param run     the run that the rank belongs to
 * @param rank    the rank
 * @param pieces  what lies in its shard
 * @param stored  the shard itself; null if there is none, having nothing to hold
 * @param failure what went wrong; null if nothing did
 */
record Sidecar(String run, int rank, List<WrittenPiece> pieces, StoredFile stored, String failure) {
    /** A piece without its values. */
    record WrittenPiece(String name, List<Long> shape, Shard shard) {
        static WrittenPiece of(TensorSlice piece) {
            return new WrittenPiece(piece.name(), Arrays.stream(piece.shape().extents()).boxed().toList(),
                piece.shard());
        }
    }
}
