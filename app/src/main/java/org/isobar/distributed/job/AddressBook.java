package org.isobar.distributed.job;

import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The addresses at which the ranks of a job listen, as this rank reaches them.
 *
 * @param announced the wildcard address for ranks that listen at all addresses of the machine of rank 0
 * @param master    the address at which this rank reached rank 0
 */
record AddressBook(AddressTable announced, InetAddress master) {
    /** The address of a rank. */
    InetSocketAddress of(int rank) {
        return reachable(announced.get(rank), master);
    }

    /** Replaces the address of a rank that listens everywhere, on the machine of rank 0, by that of rank 0. */
    static InetSocketAddress reachable(InetSocketAddress address, InetAddress master) {
        return address.getAddress().isAnyLocalAddress() ? new InetSocketAddress(master, address.getPort()) : address;
    }
}
