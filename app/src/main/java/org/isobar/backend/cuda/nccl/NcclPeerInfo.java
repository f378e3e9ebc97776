package org.isobar.backend.cuda.nccl;

import static org.bytedeco.cuda.global.cudart.cuDeviceGetUuid;
import static org.bytedeco.cuda.global.nccl.NCCL_UNIQUE_ID_BYTES;
import static org.bytedeco.cuda.global.nccl.ncclGetUniqueId;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;

import org.bytedeco.cuda.cudart.CUuuid;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.isobar.backend.cuda.driver.Cuda;
import org.isobar.backend.cuda.driver.Gpu;
import org.isobar.os.HostMachine;

/**
 * What each rank sends to the others before they create a communicator.
 *
 * @param id      NCCL's unique id, from the group's first rank; zeros from the others
 * @param version NCCL version of the rank
 * @param gpu     UUID of its GPU
 * @param host    what NCCL takes for its machine: the machine's name, unless NCCL_HOSTID is set
 */
record NcclPeerInfo(byte[] id, int version, UUID gpu, String host) {
    private static final int BYTES = 512;
    private static final int LONGEST_HOST = 255;
    private static final String HOST = "NCCL_HOSTID";

    /**
     * The information of this process, which has position {@code index} in its group.
     *
     * @param environment of this process, which NCCL reads too
     */
    static NcclPeerInfo of(Gpu gpu, int index, Map<String, String> environment) {
        byte[] id = new byte[NCCL_UNIQUE_ID_BYTES];
        if (index == 0) {
            try (ncclUniqueId unique = new ncclUniqueId()) {
                Nccl.check(ncclGetUniqueId(unique), "ncclGetUniqueId");
                unique.internal().get(id);
            }
        }
        String host = environment.getOrDefault(HOST, HostMachine.name());
        return new NcclPeerInfo(id, Nccl.version(), uuid(gpu), host);
    }

    private static UUID uuid(Gpu gpu) {
        byte[] bytes = new byte[2 * Long.BYTES];
        try (CUuuid uuid = new CUuuid()) {
            Cuda.check(cuDeviceGetUuid(uuid, gpu.device()), "cuDeviceGetUuid");
            uuid.bytes().get(bytes);
        }
        ByteBuffer halves = ByteBuffer.wrap(bytes);
        return new UUID(halves.getLong(), halves.getLong());
    }

    /** The GPU as NCCL tells it from others. */
    record Place(UUID gpu, String host) { }

    Place place() {
        return new Place(gpu, host);
    }

    /** The message to the other ranks; its length is the same on all ranks. */
    ByteBuffer bytes() {
        byte[] name = host.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(name.length, LONGEST_HOST);
        return ByteBuffer.allocate(BYTES).put(id).putInt(version).putLong(gpu.getMostSignificantBits())
            .putLong(gpu.getLeastSignificantBits()).putInt(length).put(name, 0, length).clear();
    }

    /** Reads a message made by {@link #bytes()}. */
    static NcclPeerInfo of(ByteBuffer bytes) {
        byte[] id = new byte[NCCL_UNIQUE_ID_BYTES];
        bytes.get(id);
        int version = bytes.getInt();
        UUID gpu = new UUID(bytes.getLong(), bytes.getLong());
        byte[] name = new byte[Math.clamp(bytes.getInt(), 0, LONGEST_HOST)];
        bytes.get(name);
        return new NcclPeerInfo(id, version, gpu, new String(name, StandardCharsets.UTF_8));
    }
}
