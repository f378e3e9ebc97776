package org.isobar.backend;

import org.isobar.device.Device;
import org.isobar.device.DeviceType;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.Job;
import org.isobar.distributed.job.JobDevice;

/** The transport of collectives, as {@code --comm_backend} names it. */
public enum CommBackend {
    /** NCCL between GPUs, sockets between CPUs. */
    AUTO,
    /** NCCL; each rank has a GPU of its own. */
    NCCL,
    /** Sockets, through host memory; ranks may share a GPU. */
    HOST;

    /** Whether collectives between such devices go over NCCL. */
    public boolean overNccl(Device device) {
        return this != HOST && device.type() == DeviceType.CUDA;
    }

    /**
     * Connects this rank with the other ranks of {@code group}, which call this method too.
     *
     * @throws org.isobar.distributed.CommunicationException if a rank cannot be reached
     */
    public Communicator open(JobDevice device, Job job, ProcessGroup group) {
        return this == HOST ? device.connectThroughHost(job, group) : device.connect(job, group);
    }
}
