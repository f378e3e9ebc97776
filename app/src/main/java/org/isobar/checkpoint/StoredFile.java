package org.isobar.checkpoint;

import java.util.List;

/**
 * Size and checksums of a shard file.
 *
 * @param bytes  size of the file
 * @param crc32c the CRC32C of each of its blocks; the last block may be shorter than the others
 */
record StoredFile(long bytes, List<Long> crc32c) { }
