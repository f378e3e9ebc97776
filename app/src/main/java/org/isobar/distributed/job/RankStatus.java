package org.isobar.distributed.job;

import java.util.List;

/**
 * What a rank reports about itself with each heartbeat.
 *
 * @param progress a counter that changes whenever the rank receives data from a peer
 * @param waiting  rank, group and operation while the rank waits for others; otherwise empty
 */
record RankStatus(long progress, String waiting) {
    private static final long DIGEST = 0x9E37_79B9_7F4A_7C15L; // odd, so that no bit is lost

    /**
     * The status of a rank and of all below it in the {@link JobTree}, as one: {@code progress} differs whenever that
     * of one of them does, and the rank waits only if all of them do.
     */
    RankStatus with(List<RankStatus> below) {
        long digest = progress;
        boolean all = !waiting.isEmpty();
        for (RankStatus status : below) {
            digest = (digest * DIGEST + status.progress) * DIGEST + status.waiting.hashCode();
            all &= !status.waiting.isEmpty();
        }
        return new RankStatus(digest, all ? waiting : "");
    }
}
