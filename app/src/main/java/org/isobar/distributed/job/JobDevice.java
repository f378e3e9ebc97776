package org.isobar.distributed.job;

import org.isobar.device.Device;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;

/** A device that can carry collectives between the processes of a job. */
public interface JobDevice extends Device {
    /**
     * Connects this rank with the other ranks of {@code group}, which call this method too, by the fastest transport of
     * such devices. The caller closes the communicator before this device.
     *
     * @throws org.isobar.distributed.CommunicationException if a rank cannot be reached
     */
    Communicator connect(Job job, ProcessGroup group);

    /**
     * Like {@link #connect}, but collectives go through host memory and sockets, so that ranks can share a device.
     *
     * @throws org.isobar.distributed.CommunicationException if a rank cannot be reached
     */
    Communicator connectThroughHost(Job job, ProcessGroup group);
}
