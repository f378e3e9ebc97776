package org.isobar.distributed.job;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.isobar.fault.UserException;

/**
 * The rendezvous at which the ranks of a job find each other. All ranks connect to rank 0 at MASTER_ADDR and
 * MASTER_PORT, prove the job's secret, and announce their rank, their address and the facts on which all must agree.
 * When all have connected and agree, each is told so, and the addresses of all go down the {@link JobTree}. Without a
 * secret, MASTER_ADDR must be a loopback address, so that only processes of this machine can connect.
 *
 * <p>Rank 0 listens at the address of MASTER_ADDR, and each other rank at the address from which it reached rank 0. On
 * its own machine, a name can resolve to a loopback address (127.0.1.1 in Debian's /etc/hosts), which ranks on other
 * machines cannot reach. If there are such ranks and the job has a secret, the ranks of this machine listen at all its
 * addresses and announce none: others then use the address at which they reached rank 0.
 */
public final class Rendezvous {
    private static final int MIN_RETRY_MILLIS = 100;
    private static final int MAX_RETRY_MILLIS = 2000;
    private static final Duration MAX_ATTEMPT = Duration.ofSeconds(5);

    private final RankEnvironment environment;
    private final JobFacts facts;
    private final Dialer dialer;
    private final TimeLimits limits;
    private final long deadline;

    private Rendezvous(RankEnvironment environment, Map<String, String> facts, Dialer dialer) {
        this.environment = environment;
        this.facts = new JobFacts(facts);
        this.dialer = dialer;
        limits = dialer.limits();
        deadline = System.nanoTime() + limits.start().toNanos();
    }

    /**
     * Connects to the other ranks. Returns immediately if there are none.
     *
     * @param facts values on which all ranks must agree, by name: the configuration's keys, the program's version, the
     *              grid
     * @throws UserException on every rank that has connected, with the same message, if ranks are missing, are present
     *                       twice or disagree; also if rank 0 cannot listen or cannot be reached
     */
    public static Job join(RankEnvironment environment, JobSecret secret, Map<String, String> facts,
        TimeLimits limits) {
        return join(environment, secret, facts, limits, new TcpTransport());
    }

    /** As {@link #join(RankEnvironment, JobSecret, Map, TimeLimits)}, over any transport. */
    static Job join(RankEnvironment environment, JobSecret secret, Map<String, String> facts, TimeLimits limits,
        Transport transport) {
        IncomingConnections incoming = new IncomingConnections();
        Dialer dialer = new Dialer(transport, secret, limits);
        if (environment.worldSize() == 1) {
            return new Job(environment, dialer, incoming, Map.of());
        }
        Rendezvous rendezvous = new Rendezvous(environment, facts, dialer);
        try {
            InetAddress master = rendezvous.master();
            return environment.rank() == 0 ? rendezvous.host(master, incoming) : rendezvous.call(master, incoming);
        } catch (IOException | RuntimeException failed) {
            incoming.close();
            throw failed instanceof UserException known ? known
                : new UserException("the rendezvous at " + rendezvous.address() + " failed: " + failed, failed);
        }
    }

    /**
     * What to log on rank 0 about the addresses that the ranks listen at: a line if these are all of its machine.
     */
    public static Optional<String> notice(RankEnvironment environment, JobSecret secret) {
        try {
            return environment.rank() == 0 && environment.severalNodes()
                && listensEverywhere(environment, secret, InetAddress.getByName(environment.masterAddress()))
                ? Optional.of("MASTER_ADDR=" + environment.masterAddress() + " is a loopback address on this machine, "
                    + "and other machines take part: listening at all addresses of this machine") : Optional.empty();
        } catch (UnknownHostException unknown) {
            return Optional.empty(); // join retries, and reports it
        }
    }

    private static boolean listensEverywhere(RankEnvironment environment, JobSecret secret, InetAddress own) {
        return environment.severalNodes() && own.isLoopbackAddress() && secret.given();
    }

    /** The address to listen at: {@code own}, or all addresses of this machine. */
    private InetAddress listening(InetAddress own) {
        return listensEverywhere(environment, dialer.secret(), own) ? new InetSocketAddress(0).getAddress() : own;
    }

    /** Retries until the deadline, because a cluster may register the name of rank 0 later than this rank starts. */
    private InetAddress resolve() {
        while (true) {
            try {
                return dialer.transport().resolve(environment.masterAddress());
            } catch (UnknownHostException notYet) {
                if (System.nanoTime() > deadline) {
                    throw new UserException("MASTER_ADDR=" + environment.masterAddress()
                        + " is not the name of a machine known to this one within " + limits.start().toSeconds()
                        + " s; use its IP address", notYet);
                }
                FailureDetector.pause(retryInterval());
            }
        }
    }

    private InetAddress master() {
        InetAddress master = resolve();
        if (!dialer.secret().given() && !master.isLoopbackAddress()) {
            throw new UserException("the rendezvous address " + address() + " is reachable from other machines, but the"
                + " job has no secret: set " + JobSecret.VARIABLE + " or " + JobSecret.FILE_VARIABLE
                + " to the same value for all ranks (`isobar launch` and the submit scripts do)");
        }
        return master;
    }

    private String address() {
        return environment.masterAddress() + ":" + environment.masterPort();
    }

    private Job host(InetAddress master, IncomingConnections incoming) throws IOException {
        try {
            incoming.listen(dialer.transport(), listening(master), dialer.secret());
            RendezvousHost host = new RendezvousHost(announcement(incoming.address()), facts);
            InetSocketAddress address = new InetSocketAddress(listening(master), environment.masterPort());
            try (AuthenticatedListener listener = new AuthenticatedListener(dialer.transport(), address,
                dialer.secret(), environment.worldSize(), host)) {
                AddressTable addresses = host.await(deadline, limits.start(), listener::refused);
                Job job = new Job(environment, dialer, incoming, host.connections());
                job.start(new AddressBook(addresses, master));
                return job;
            }
        } catch (BindException failed) {
            boolean wrongMachine = String.valueOf(failed.getMessage()).contains("assign");
            throw new UserException(wrongMachine
                ? "MASTER_ADDR=" + environment.masterAddress() + " is not an address of the machine of rank 0"
                : "port " + environment.masterPort() + " of " + environment.masterAddress() + " is in use, perhaps"
                + " by another job; set MASTER_PORT to another port, the same for all ranks", failed);
        }
    }

    private RankAnnouncement announcement(InetSocketAddress address) {
        return new RankAnnouncement(RankAnnouncement.PROTOCOL, environment.rank(), environment.worldSize(), address,
            facts.digest());
    }

    private Job call(InetAddress master, IncomingConnections incoming) throws IOException {
        Connection connection = reach(new InetSocketAddress(master, environment.masterPort()));
        try {
            incoming.listen(dialer.transport(), listening(connection.local()), dialer.secret());
            announcement(incoming.address()).write(connection.out());
            // Longer than the limit of rank 0, which reports the reason when it gives up.
            connection.limit(limits.start().plus(limits.failure()));
            return start(connection, master, incoming);
        } catch (EOFException end) {
            connection.close();
            throw new UserException("rank 0 at " + address() + " ended before the rendezvous was complete; see the"
                + " message of rank 0 for the reason", end);
        } catch (IOException | RuntimeException failed) {
            connection.close();
            throw failed;
        }
    }

    /** Waits for the outcome, and sends the facts before if rank 0 asks for them. */
    private Job start(Connection connection, InetAddress master, IncomingConnections incoming) throws IOException {
        DataInputStream in = connection.in();
        int outcome = in.readInt();
        if (outcome == RendezvousHost.SEND_FACTS) {
            facts.write(connection.out());
            outcome = in.readInt();
        }
        if (outcome == RendezvousHost.FAILED) {
            throw new UserException(in.readUTF());
        }
        AddressBook addresses = outcome != RendezvousHost.TABLE ? null
            : new AddressBook(AddressTable.read(in, dialer.transport()::kept), master);
        InetSocketAddress parent = addresses != null ? null
            : AddressBook.reachable(RankAnnouncement.readAddress(in), master);
        connection.unlimited();
        Job job = new Job(environment, dialer, incoming, Map.of(0, connection));
        if (addresses != null) {
            job.start(addresses);
        } else {
            job.start(parent, master);
        }
        return job;
    }

    /** Retries until the deadline, because rank 0, its machine or the route to it may start later than this rank. */
    private Connection reach(InetSocketAddress address) {
        while (true) {
            try {
                return dialer.open(address, attemptLimit());
            } catch (Handshake.RefusedException refused) {
                throw new UserException("the process that listens at " + address() + " is not rank 0 of this job: "
                    + refused.getMessage(), refused);
            } catch (IOException notYet) {
                if (System.nanoTime() > deadline) {
                    throw new UserException("rank " + environment.rank() + " cannot reach rank 0 at " + address()
                        + " within " + limits.start().toSeconds() + " s (" + notYet.getMessage() + "); is it running,"
                        + " and are MASTER_ADDR and MASTER_PORT right?", notYet);
                }
                FailureDetector.pause(retryInterval());
            }
        }
    }

    /** A random time that grows with the job, so that not all ranks call at the same time. */
    private Duration retryInterval() {
        int millis = Math.clamp(environment.worldSize(), MIN_RETRY_MILLIS, MAX_RETRY_MILLIS);
        return Duration.ofMillis(ThreadLocalRandom.current().nextLong(millis / 2, millis + millis / 2));
    }

    /** The time limit of one attempt: the time left, but at most MAX_ATTEMPT and at least MIN_RETRY_MILLIS. */
    private Duration attemptLimit() {
        long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        return Duration.ofMillis(Math.clamp(left, MIN_RETRY_MILLIS, MAX_ATTEMPT.toMillis()));
    }
}
