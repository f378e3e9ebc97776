package org.isobar.backend.cuda.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

import org.isobar.distributed.ProcessGroup;
import org.junit.jupiter.api.Test;

/** The checks of peer information before NCCL connects. */
class NcclBootstrapTest {
    private static final ProcessGroup GROUP = new ProcessGroup("tp", List.of(2, 3, 5), 3);

    @Test
    void aGpuForEach() {
        assertEquals(Optional.empty(), obstacle(Map.of(), peer(22903, 0), peer(22903, 1), peer(22903, 2)));
    }

    @Test
    void aGpuForTwo() {
        assertEquals(Optional.of("ranks 3 and 5 of group tp [2, 3, 5] share GPU-00000000-0000-0000-0000-000000000001 "
            + "on node7: start one process for each GPU, or use --comm_backend=host"),
            obstacle(Map.of("NCCL_MULTI_RANK_GPU_ENABLE", "1"), peer(22903, 0), peer(22903, 1), peer(22903, 1)));
    }

    @Test
    void newerVersionsLetThemShare() {
        assertEquals(Optional.empty(),
            obstacle(Map.of("NCCL_MULTI_RANK_GPU_ENABLE", "1"), peer(23003, 1), peer(23003, 1), peer(23003, 1)));
        assertEquals(true, obstacle(Map.of(), peer(23003, 1), peer(23003, 1), peer(23003, 1)).isPresent());
    }

    /** Ranks with unlike NCCL_HOSTID, which NCCL takes to be on different machines. */
    @Test
    void aGpuOfSeveralHosts() {
        NcclPeerInfo elsewhere = new NcclPeerInfo(new byte[128], 22903, new UUID(0, 1), "other");
        assertEquals(Optional.empty(), obstacle(Map.of(), peer(22903, 1), elsewhere));
    }

    @Test
    void versionsThatDiffer() {
        assertEquals(Optional.of("ranks 2 and 5 of group tp [2, 3, 5] have different versions of NCCL, 2.29.3 on node7 "
            + "and 2.27.7 on node7: install the same everywhere"),
            obstacle(Map.of(), peer(22903, 0), peer(22903, 1), peer(22707, 2)));
    }

    @Test
    void peerInformationIsSentUnchanged() {
        NcclPeerInfo peer = NcclPeerInfo.of(peer(22903, 77).bytes());
        assertEquals(22903, peer.version());
        assertEquals(new UUID(0, 77), peer.gpu());
        assertEquals("node7", peer.host());
        assertEquals(5, peer.id()[3]);
    }

    private static Optional<String> obstacle(Map<String, String> environment, NcclPeerInfo... cards) {
        return NcclBootstrap.obstacle(GROUP, List.of(cards), environment);
    }

    private static NcclPeerInfo peer(int version, long gpu) {
        byte[] id = new byte[128];
        id[3] = 5;
        return new NcclPeerInfo(id, version, new UUID(0, gpu), "node7");
    }
}
