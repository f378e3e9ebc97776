package org.isobar.distributed.job;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.isobar.fault.UserException;

/**
 * How the ranks of a job find each other: all call at rank 0, on MASTER_ADDR and MASTER_PORT, prove the job's secret
 * and say who they are, where they listen and what they have in mind; if all have come and agree, each learns the
 * addresses of all. Without a secret, and wherever MASTER_ADDR is a loopback address, this machine alone can call.
 */
public final class Rendezvous {
    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final Duration ONE_TRY = Duration.ofSeconds(5);

    private final RankEnvironment environment;
    private final JobSecret secret;
    private final Map<String, String> facts;
    private final TimeLimits limits;
    private final long deadline;

    private Rendezvous(RankEnvironment environment, JobSecret secret, Map<String, String> facts, TimeLimits limits) {
        this.environment = environment;
        this.secret = secret;
        this.facts = facts;
        this.limits = limits;
        this.deadline = System.nanoTime() + limits.start().toNanos();
    }

    /**
     * Meets the other ranks. Returns at once if there are none.
     *
     * @param facts what all ranks must agree on, by name: the configuration's keys, the program's version, the grid
     * @throws UserException at every rank that was reached, with one message, if ranks are missing, are there twice or
     *                       disagree; or if rank 0 cannot listen or be reached
     */
    public static Job join(RankEnvironment environment, JobSecret secret, Map<String, String> facts,
        TimeLimits limits) {
        Job.Arrivals arrivals = new Job.Arrivals();
        if (environment.worldSize() == 1) {
            return new Job(environment, secret, limits, List.of(), arrivals, Map.of());
        }
        Rendezvous rendezvous = new Rendezvous(environment, secret, facts, limits);
        try {
            InetAddress master = rendezvous.master();
            return environment.rank() == 0 ? rendezvous.host(master, arrivals) : rendezvous.call(master, arrivals);
        } catch (IOException | RuntimeException failed) {
            arrivals.close();
            throw failed instanceof UserException told ? told
                : new UserException("the ranks could not meet at " + rendezvous.place() + ": " + failed, failed);
        }
    }

    private InetAddress master() {
        InetAddress master;
        try {
            master = InetAddress.getByName(environment.masterAddress());
        } catch (UnknownHostException unknown) {
            throw new UserException("MASTER_ADDR=" + environment.masterAddress() + " is not the name of a machine that"
                + " this one knows; use its address", unknown);
        }
        if (!secret.given() && !master.isLoopbackAddress()) {
            throw new UserException("the ranks are to meet at " + place() + ", which others can reach, but the job has"
                + " no secret: set " + JobSecret.VARIABLE + " or " + JobSecret.FILE_VARIABLE
                + " alike for all ranks (`isobar launch` and the submit scripts do)");
        }
        return master;
    }

    private String place() {
        return environment.masterAddress() + ":" + environment.masterPort();
    }

    private Job host(InetAddress master, Job.Arrivals arrivals) throws IOException {
        try {
            arrivals.listen(master, secret);
            RendezvousHost host = new RendezvousHost(hello(arrivals.address()));
            InetSocketAddress address = new InetSocketAddress(master, environment.masterPort());
            try (AuthenticatedListener door = new AuthenticatedListener(address, secret, host)) {
                List<InetSocketAddress> addresses = host.await(deadline, limits.start(), door::refused);
                return new Job(environment, secret, limits, addresses, arrivals, host.connections());
            }
        } catch (BindException taken) {
            boolean elsewhere = String.valueOf(taken.getMessage()).contains("assign");
            throw new UserException(elsewhere
                ? "MASTER_ADDR=" + environment.masterAddress() + " is not an address of the machine of rank 0"
                : "port " + environment.masterPort() + " of " + environment.masterAddress() + " is in use, by another"
                + " job perhaps; set MASTER_PORT to another, alike for all ranks", taken);
        }
    }

    private RankAnnouncement hello(InetSocketAddress address) {
        return new RankAnnouncement(RankAnnouncement.PROTOCOL, environment.rank(), environment.worldSize(), address,
            new TreeMap<>(facts));
    }

    private Job call(InetAddress master, Job.Arrivals arrivals) throws IOException {
        Connection connection = reach(new InetSocketAddress(master, environment.masterPort()));
        try {
            InetSocketAddress own = (InetSocketAddress) connection.channel().getLocalAddress();
            arrivals.listen(own.getAddress(), secret);
            hello(arrivals.address()).write(connection.out());
            // Rank 0 gives up first, and says why.
            connection.limit(limits.start().plus(limits.failure()));
            List<InetSocketAddress> addresses = verdict(connection.in());
            connection.unlimited();
            return new Job(environment, secret, limits, addresses, arrivals, Map.of(0, connection));
        } catch (EOFException end) {
            connection.close();
            throw new UserException("rank 0 at " + place() + " ended before all ranks had met; its own message says"
                + " why", end);
        } catch (IOException | RuntimeException failed) {
            connection.close();
            throw failed;
        }
    }

    /** Tries until rank 0 is there: it may start later than this rank. */
    private Connection reach(InetSocketAddress address) {
        while (true) {
            try {
                return Connection.open(address, secret, oneTry());
            } catch (Handshake.Refused stranger) {
                throw new UserException("something listens at " + place() + ", but it is not rank 0 of this job: "
                    + stranger.getMessage(), stranger);
            } catch (IOException notYet) {
                if (System.nanoTime() > deadline || notYet instanceof NoRouteToHostException) {
                    throw new UserException("rank " + environment.rank() + " cannot reach rank 0 at " + place()
                        + " within " + limits.start().toSeconds() + " s (" + notYet.getMessage() + "); is it running,"
                        + " and are MASTER_ADDR and MASTER_PORT right?", notYet);
                }
                FailureDetector.pause(PAUSE);
            }
        }
    }

    /** Not beyond the deadline; nor is a limit ever zero. */
    private Duration oneTry() {
        Duration left = Duration.ofNanos(deadline - System.nanoTime());
        return left.compareTo(ONE_TRY) > 0 ? ONE_TRY : left.compareTo(PAUSE) > 0 ? left : PAUSE;
    }

    private static List<InetSocketAddress> verdict(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count <= 0) {
            throw new UserException(in.readUTF());
        }
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            addresses.add(RankAnnouncement.readAddress(in));
        }
        return addresses;
    }
}
