package org.isobar.backend;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.host.SocketCommunicator;
import org.isobar.device.Device;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;

/** What carries collectives, as {@code --comm_backend} names it. */
public enum CommBackend {
    /** NCCL between GPUs, sockets between CPUs. */
    AUTO,
    /** NCCL: each rank has a GPU of its own. */
    NCCL,
    /** Sockets, by way of the host's memory: ranks may share a GPU. */
    HOST;

    /** Whether collectives of this device's tensors go over NCCL. */
    public boolean overNccl(Device device) {
        return this != HOST && device instanceof CudaDevice;
    }

    /**
     * Connects this rank with the others of {@code group}, which do the same.
     *
     * @throws org.isobar.distributed.CommunicationException if one of them cannot be reached
     */
    public Communicator open(Device device, Job job, ProcessGroup group) {
        return switch (device) {
            case CudaDevice gpu when this == HOST -> gpu.staged(job,
                SocketCommunicator.open(job, group, SocketCommunicator.Awaiter.WORKER_THREAD));
            case CudaDevice gpu -> gpu.nccl(job, group);
            default -> SocketCommunicator.open(job, group);
        };
    }
}
