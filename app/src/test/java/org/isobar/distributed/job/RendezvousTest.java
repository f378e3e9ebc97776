package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.opentest4j.TestAbortedException;

/** Rendezvous of ranks, and its failures. */
@Execution(ExecutionMode.CONCURRENT)
class RendezvousTest {
    private static final TimeLimits LIMITS =
        new TimeLimits(Duration.ofSeconds(20), Duration.ofSeconds(10), Duration.ofSeconds(20));
    private static final TimeLimits SHORT =
        new TimeLimits(Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ofSeconds(10));
    private static final JobSecret SECRET = secret("one secret of this test");
    private int port;

    @BeforeEach
    void choosePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
    }

    @Test
    void allRanksConnectToEachOther() {
        List<Object> outcomes = run(4, rank -> () -> {
            try (Job job = join(rank, 4, LIMITS)) {
                assertEquals(rank, job.rank());
                // Twice with the same purpose: the n-th connect matches the n-th accept.
                for (int round = 0; round < 2; round++) {
                    SocketChannel next = job.connect((rank + 1) % 4, "test");
                    next.write(ByteBuffer.wrap(new byte[] {(byte) rank, (byte) round}));
                    ByteBuffer read = ByteBuffer.allocate(2);
                    SocketChannel previous = job.accept((rank + 3) % 4, "test");
                    while (read.hasRemaining()) {
                        previous.read(read);
                    }
                    assertEquals((rank + 3) % 4, read.get(0));
                    assertEquals(round, read.get(1));
                }
                assertTrue(job.watch().failure().isEmpty());
                return null;
            }
        });
        assertEquals(Arrays.asList(null, null, null, null), outcomes);
    }

    /** Under Slurm, ranks listen at the address of MASTER_ADDR and at no other. */
    @Test
    void ranksListenAtOneAddressOnly() throws Exception {
        InetAddress outside = outside();
        List<Object> outcomes = run(2, rank -> () -> {
            try (Job job = Rendezvous.join(new RankEnvironment(rank, 2, 0, outside.getHostAddress(), port), SECRET,
                Map.of(), LIMITS)) {
                SocketChannel other = rank == 0 ? job.connect(1, "test") : job.accept(0, "test");
                InetSocketAddress listening =
                    (InetSocketAddress) (rank == 0 ? other.getRemoteAddress() : other.getLocalAddress());
                assertEquals(outside, listening.getAddress());
                assertThrows(ConnectException.class,
                    () -> new Socket(InetAddress.getLoopbackAddress(), listening.getPort()).close());
                return null;
            }
        });
        assertEquals(Arrays.asList(null, null), outcomes);
    }

    private static InetAddress outside() throws IOException {
        return NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
            .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress()).findFirst()
            .orElseThrow(() -> new TestAbortedException("this machine has only a loopback address"));
    }

    /**
     * On its own machine, the name of rank 0 is a loopback address, as in Debian's /etc/hosts. Rank 1 is on the same
     * machine. Rank 2 is on another, where the name is the address of the network.
     */
    @Test
    void otherMachinesReachARankZeroWhoseNameIsALoopbackAddress() throws Exception {
        String outside = outside().getHostAddress();
        List<Object> outcomes = run(3, rank -> () -> {
            RankEnvironment self = new RankEnvironment(rank, 3, rank % 2, rank < 2 ? "127.0.1.1" : outside, port, true);
            assertEquals(rank == 0, Rendezvous.notice(self, SECRET).isPresent());
            try (Job job = Rendezvous.join(self, SECRET, Map.of(), LIMITS)) {
                for (int peer = 0; peer < 3; peer++) {
                    if (peer != rank) {
                        job.connect(peer, "test").close();
                        job.accept(peer, "test").close();
                    }
                }
                return null;
            }
        });
        assertEquals(Arrays.asList(null, null, null), outcomes);
    }

    /** Without a secret, and on one machine, ranks stay at the loopback address. */
    @Test
    void aLoopbackAddressIsKeptWhereItSuffices() {
        RankEnvironment several = new RankEnvironment(0, 2, 0, "127.0.1.1", port, true);
        assertTrue(Rendezvous.notice(several, JobSecret.none()).isEmpty());
        assertTrue(Rendezvous.notice(environment(0, 2), SECRET).isEmpty());
        assertTrue(Rendezvous.notice(new RankEnvironment(0, 1, 0, "no.such.host.invalid", port), SECRET).isEmpty());
        assertTrue(Rendezvous.notice(new RankEnvironment(0, 2, 0, "no.such.host.invalid", port, true), SECRET)
            .isEmpty());
    }

    @Test
    void aSingleRankNeedsNoRendezvous() {
        try (Job job = Rendezvous.join(RankEnvironment.of(Map.of()), JobSecret.none(), Map.of(), LIMITS)) {
            assertEquals(1, job.worldSize());
        }
    }

    @Test
    void missingRanksAreNamed() {
        refused(run(2, rank -> () -> join(rank, 4, SHORT)), 2,
            "of 4 ranks these did not connect within 1 s: ranks 2, 3");
    }

    @Test
    void differencesAreNamed() {
        refused(run(3, rank -> () -> Rendezvous.join(environment(rank, 3), SECRET,
            rank == 1 ? Map.of("lr", "0.1", "grid", "tp 3") : Map.of("lr", "0.2", "grid", "tp 3", "amp", "bf16"),
            LIMITS)), 3, "lr: 0.1 at rank 1, 0.2 at ranks 0, 2", "amp: (not set) at rank 1, bf16 at ranks 0, 2");
    }

    /** Rank 0 has equal facts once, and asks for others. */
    @Test
    void anAnnouncementHasADigestOfTheFacts() throws IOException {
        assertTrue(JobFrames.announcement().length < 64);
        Map<String, String> large = new HashMap<>();
        IntStream.range(0, 1000).forEach(i -> large.put("key" + i, "x".repeat(100)));
        refused(run(2, rank -> () -> {
            Map<String, String> own = new HashMap<>(large);
            own.put("key7", rank == 0 ? "x" : "y".repeat(100_000));
            return Rendezvous.join(environment(rank, 2), SECRET, own, LIMITS);
        }), 2, "\n  key7: x at rank 0, yyy", "... at rank 1");
    }

    @Test
    void twoRanksWithTheSameNumber() {
        refused(run(3, rank -> () -> join(Math.min(rank, 1), 3, LIMITS)), 3, "two processes claim rank 1");
    }

    @Test
    void anotherWorldSize() {
        refused(run(2, rank -> () -> join(rank, 2 + rank, LIMITS)), 2,
            "rank 1 was started with WORLD_SIZE=3, rank 0 with 2");
    }

    @Test
    void aPortInUse() throws Exception {
        try (ServerSocket taken = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            refused(run(1, rank -> () -> join(0, 2, LIMITS)), 1, "port " + taken.getLocalPort(), "is in use",
                "MASTER_PORT");
        }
    }

    @Test
    void anAddressOfAnotherMachine() {
        refused(run(1, rank -> () -> Rendezvous.join(new RankEnvironment(0, 2, 0, "192.0.2.1", port), SECRET, Map.of(),
            LIMITS)), 1, "192.0.2.1 is not an address of the machine of rank 0");
    }

    @Test
    void noRankZeroAtTheAddress() {
        refused(run(1, rank -> () -> join(1, 2, SHORT)), 1, "rank 1 cannot reach rank 0 at 127.0.0.1:" + port);
        refused(run(1, rank -> () -> Rendezvous.join(new RankEnvironment(1, 2, 0, "no.such.host.invalid", port), SECRET,
            Map.of(), SHORT)), 1, "no.such.host.invalid is not the name of a machine known");
    }

    /** A cluster may register the name of rank 0, and the route to it, only after a rank has started. */
    @Test
    void aNameAndARouteMayComeLater() {
        List<Object> outcomes = run(2, rank -> () -> {
            try (Job job = Rendezvous.join(new RankEnvironment(rank, 2, rank, "no.such.host.invalid", port), SECRET,
                Map.of(), LIMITS, new LateNetwork())) {
                return job.watch().failure().orElse(null);
            }
        });
        assertEquals(Arrays.asList(null, null), outcomes);
    }

    @Test
    void withoutASecretOnlyThisMachineMayCall() {
        refused(run(1, rank -> () -> Rendezvous.join(new RankEnvironment(0, 2, 0, "192.0.2.1", port), JobSecret.none(),
            Map.of(), LIMITS)), 1, "no secret", "ISOBAR_JOB_SECRET");
    }

    @Test
    void anotherJobsSecret() {
        List<Object> outcomes = run(2, rank -> () -> Rendezvous.join(environment(rank, 2),
            rank == 0 ? SECRET : secret("the secret of another job"), Map.of(), SHORT));
        refused(outcomes.subList(0, 1), 1, "did not connect within 1 s: rank 1", "1 connections were refused");
        refused(outcomes.subList(1, 2), 1, "does not know the secret of this job");
    }

    @Test
    void foreignConnectionsDoNotDisturbTheRendezvous() throws Exception {
        List<Socket> sockets = new ArrayList<>();
        List<Object> outcomes = run(2, rank -> () -> {
            if (rank == 1) {
                sendGarbage(sockets);
            }
            try (Job job = join(rank, 2, LIMITS)) {
                if (rank == 1) {
                    sendGarbage(sockets); // rank 0 has stopped listening there
                }
                return job.watch().failure().orElse(null);
            }
        });
        for (Socket socket : sockets) {
            socket.close();
        }
        assertEquals(Arrays.asList(null, null), outcomes);
    }

    /** Opens 300 connections: silent ones, ones with random bytes, and ones that announce huge messages. */
    private void sendGarbage(List<Socket> sockets) throws InterruptedException {
        Random random = new Random(1);
        for (int i = 0; i < 300; i++) {
            byte[] bytes = new byte[i % 3 == 0 ? 0 : 1 + random.nextInt(200)];
            random.nextBytes(bytes);
            Arrays.fill(bytes, 0, Math.min(bytes.length, i % 2 == 0 ? 8 : 0), (byte) 0x7f);
            try {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                sockets.add(socket);
                socket.getOutputStream().write(bytes);
            } catch (IOException refused) {
                Thread.sleep(1);
            }
        }
    }

    @Test
    void aSlowUnauthenticatedConnectionIsClosed() throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (AuthenticatedListener listener = AuthenticatedListener.onFreePort(new TcpTransport(), loopback, SECRET,
                connection -> { });
            Socket slow = new Socket(loopback, listener.address().getPort())) {
            slow.setSoTimeout(10_000);
            long start = System.nanoTime();
            assertEquals(-1, slow.getInputStream().read());
            assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(8));
            while (listener.refused() == 0) {
                assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(9));
                Thread.sleep(5);
            }
        }
    }

    @Test
    void secretsAreLongAndPrivate(@TempDir Path directory) throws Exception {
        assertTrue(assertThrows(UserException.class, () -> secret("short")).getMessage().contains("at least 16"));
        Path file = Files.writeString(directory.resolve("secret"), "in a file: one secret of this test\n");
        Map<String, String> environment = Map.of(JobSecret.FILE_VARIABLE, file.toString());
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertTrue(assertThrows(UserException.class, () -> JobSecret.of(environment)).getMessage().contains("chmod"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assertTrue(JobSecret.of(environment).given());
        assertThrows(UserException.class, () -> JobSecret.of(Map.of(JobSecret.FILE_VARIABLE, "/does/not/exist")));
        assertTrue(!JobSecret.of(Map.of()).given());
    }

    private static JobSecret secret(String text) {
        return JobSecret.of(Map.of(JobSecret.VARIABLE, text));
    }

    private RankEnvironment environment(int rank, int worldSize) {
        return new RankEnvironment(rank, worldSize, rank, "127.0.0.1", port);
    }

    private Job join(int rank, int worldSize, TimeLimits limits) {
        return Rendezvous.join(environment(rank, worldSize), SECRET, Map.of(), limits);
    }

    private static void refused(List<Object> outcomes, int count, String... words) {
        assertEquals(count, outcomes.size());
        for (Object outcome : outcomes) {
            String message = assertInstanceOf(UserException.class, outcome).getMessage();
            for (String word : words) {
                assertTrue(message.contains(word), message);
            }
        }
    }

    /** Runs each rank on a thread of its own. Returns what each returns or throws. */
    private static List<Object> run(int count, IntFunction<Callable<Object>> rank) {
        List<Object> outcomes = new ArrayList<>();
        try (var threads = Executors.newCachedThreadPool()) {
            List<Future<Object>> futures = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                futures.add(threads.submit(rank.apply(i)));
            }
            for (Future<Object> future : futures) {
                try {
                    outcomes.add(future.get(30, TimeUnit.SECONDS));
                } catch (ExecutionException thrown) {
                    outcomes.add(thrown.getCause());
                }
            }
        } catch (Exception late) {
            throw new AssertionError(late);
        }
        return outcomes;
    }
}
