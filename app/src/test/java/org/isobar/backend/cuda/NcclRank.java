package org.isobar.backend.cuda;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.backend.cuda.StagedRanks.Rank;
import org.isobar.device.Arena;
import org.isobar.device.DeviceException;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Job;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RankEnvironment;
import org.isobar.distributed.Rendezvous;
import org.isobar.distributed.TimeLimits;
import org.isobar.fault.UserException;

/** A rank with a GPU, in a process of its own. It ends with code 2 or 3 and a message as the program does. */
final class NcclRank {
    private static final TimeLimits LIMITS =
        new TimeLimits(Duration.ofSeconds(30), Duration.ofSeconds(8), Duration.ofSeconds(60));

    private NcclRank() { }

    /** Arguments: a file to make when under way, and an {@link NcclScene}. */
    public static void main(String... arguments) {
        RankEnvironment self = RankEnvironment.of(System.getenv());
        NcclScene scene = NcclScene.valueOf(arguments[1]);
        int code = 0;
        try (CudaDevice device = device(self); Arena arena = device.arena("test", 32 << 20);
            Job job = Rendezvous.join(self, JobSecret.of(System.getenv()), Map.of(), LIMITS)) {
            try {
                scene.play(new Stage(device, arena, job, Path.of(arguments[0])));
                System.out.println("done");
            } catch (DeviceException broken) {
                throw job.verdict(broken);
            }
        } catch (CommunicationException | UserException | DeviceException failure) {
            System.out.println(failure.getMessage());
            code = failure instanceof UserException ? 2 : failure instanceof DeviceException ? 4 : 3;
        } catch (Exception | AssertionError failure) {
            failure.printStackTrace(System.out);
            code = 1;
        }
        System.exit(code);
    }

    private static CudaDevice device(RankEnvironment self) {
        int gpus = Integer.parseInt(System.getenv("ISOBAR_SIM_GPUS"));
        return new CudaDevice(self.localRank() % gpus, CudaFixture.options(), System.getenv(), line -> { });
    }

    /** What a scene has at hand. */
    record Stage(CudaDevice device, Arena arena, Job job, Path mark) {
        /** The group of all ranks. */
        ProcessGroup everybody(String name) {
            return new ProcessGroup(name, IntStream.range(0, job.worldSize()).boxed().toList(), job.rank());
        }

        /** With a communicator of all ranks. */
        void all(Part part) throws Exception {
            try (Communicator communicator = device.nccl(job, everybody("dp"))) {
                part.play(new Rank(device, arena, communicator));
            } catch (AssertionError failure) {
                job.watch().fail("rank " + job.rank() + ": " + failure);
                throw failure;
            }
        }

        /** A communicator of the ranks that differ from this one in bit {@code bit} of their numbers alone. */
        Communicator pair(String name, int bit) {
            int other = job.rank() ^ 1 << bit;
            return device.nccl(job, new ProcessGroup(name, List.of(Math.min(job.rank(), other),
                Math.max(job.rank(), other)), job.rank()));
        }

        /** This rank is under way. */
        void underWay() throws Exception {
            if (!Files.exists(mark)) {
                Files.createFile(mark);
            }
        }
    }

    /** What a rank does. */
    @FunctionalInterface
    interface Part {
        /** Does it. */
        void play(Rank rank) throws Exception;
    }
}
