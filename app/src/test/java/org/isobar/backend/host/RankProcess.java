package org.isobar.backend.host;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Job;
import org.isobar.distributed.JobSecret;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RankEnvironment;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Rendezvous;
import org.isobar.distributed.TimeLimits;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * A rank in a process of its own: reduces a tensor over and over, for a number of rounds, says when it is under way,
 * and how it ends.
 */
final class RankProcess {
    private RankProcess() { }

    /** Arguments: a file to make after the first round, and the number of rounds. */
    public static void main(String... arguments) throws Exception {
        Map<String, String> environment = System.getenv();
        TimeLimits limits = new TimeLimits(Duration.ofSeconds(30), Duration.ofSeconds(8), Duration.ofSeconds(60));
        RankEnvironment self = RankEnvironment.of(environment);
        List<Integer> all = IntStream.range(0, self.worldSize()).boxed().toList();
        try (Job job = Rendezvous.join(self, JobSecret.of(environment), Map.of(), limits);
            Communicator communicator = SocketCommunicator.open(job, new ProcessGroup("dp", all, self.rank()))) {
            Tensor tensor = HostTensors.of(DType.F32, 100_003, i -> i + self.rank());
            for (int round = 0; round < Integer.parseInt(arguments[1]); round++) {
                communicator.allReduce(tensor, Reduction.AVERAGE).await();
                if (round == 0) {
                    Files.createFile(Path.of(arguments[0]));
                }
            }
            System.out.println("value " + HostTensors.values(tensor)[7]);
        } catch (CommunicationException | UserException failure) {
            System.out.println(failure.getMessage());
            System.exit(failure instanceof UserException ? 2 : 3);
        }
    }
}
