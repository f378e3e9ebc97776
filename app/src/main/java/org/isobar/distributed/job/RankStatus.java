package org.isobar.distributed.job;

/**
 * What a rank reports about itself with each heartbeat.
 *
 * @param progress a counter that grows whenever the rank receives data from a peer
 * @param waiting  rank, group and operation while the rank waits for others; otherwise empty
 */
record RankStatus(long progress, String waiting) { }
