package org.isobar.checkpoint;

import java.util.Arrays;
import java.util.List;

import org.isobar.distributed.Shard;

/**
 * Reports to rank 0 that a rank has written its shard, or failed to.
 *
 * @param rank    the rank
 * @param pieces  the slices in its shard
 * @param stored  size and checksums of the shard; null if the rank has no shard
 * @param failure the error message; null on success
 */
record Sidecar(int rank, List<WrittenPiece> pieces, StoredFile stored, String failure) {
    /** A slice of a tensor without its values. */
    record WrittenPiece(String name, List<Long> shape, Shard shard) {
        static WrittenPiece of(TensorSlice piece) {
            return new WrittenPiece(piece.name(), Arrays.stream(piece.shape().extents()).boxed().toList(),
                piece.shard());
        }
    }
}
