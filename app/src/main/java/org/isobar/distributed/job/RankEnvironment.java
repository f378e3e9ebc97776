package org.isobar.distributed.job;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.isobar.fault.UserException;

/**
 * The rank of this process and the address of the rendezvous, read from RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
 * MASTER_PORT, or from Slurm's variables where these are not set. Without any of them, the process is a job of one
 * rank.
 *
 * @param rank          from 0
 * @param worldSize     number of processes
 * @param localRank     rank among the processes of this node, from 0
 * @param masterAddress name or address of the machine of rank 0
 * @param masterPort    port on which rank 0 listens at the rendezvous
 * @param severalNodes  whether processes run on other machines than this one, as far as the environment says
 */
public record RankEnvironment(int rank, int worldSize, int localRank, String masterAddress, int masterPort,
    boolean severalNodes) {
    /** The default port of PyTorch's launcher and of the tutorial's scripts. */
    public static final int DEFAULT_PORT = 29500;
    private static final Pattern FIRST_OF_LIST = Pattern.compile("([^,\\[]*)(?:\\[(\\w+)[^]]*])?([^,\\[]*).*");
    /** Slurm numbers the steps in which it runs the shells of jobs from here on (slurm.h). */
    private static final String FIRST_STEP_OF_SHELLS = "4294967290";

    /** Checks the ranges. */
    public RankEnvironment {
        if (worldSize < 1) {
            throw noProcesses(worldSize);
        }
        if (rank < 0 || rank >= worldSize) {
            throw new UserException("rank " + rank + " of " + worldSize + " processes: RANK must be at least 0 and less"
                + " than WORLD_SIZE (SLURM_PROCID and SLURM_NTASKS under Slurm)");
        }
        if (localRank < 0) {
            throw new UserException("LOCAL_RANK=" + localRank + " must not be negative");
        }
        if (masterPort < 1 || masterPort > 65535) {
            throw new UserException("MASTER_PORT=" + masterPort + " must lie between 1 and 65535");
        }
    }

    /** A process of a job on one machine. */
    public RankEnvironment(int rank, int worldSize, int localRank, String masterAddress, int masterPort) {
        this(rank, worldSize, localRank, masterAddress, masterPort, false);
    }

    /**
     * Reads the environment of a process.
     *
     * @throws UserException if a variable is missing or invalid, or if this is the shell of a batch script and not a
     * task
     */
    public static RankEnvironment of(Map<String, String> environment) {
        Variables variables = new Variables(environment);
        int worldSize = variables.number("WORLD_SIZE", "SLURM_NTASKS").orElse(1);
        if (worldSize < 1) {
            throw noProcesses(worldSize);
        }
        if (worldSize > 1) {
            variables.refuseShell();
        }
        int rank = variables.number("RANK", worldSize > 1 ? "SLURM_PROCID" : null)
            .orElseGet(() -> worldSize == 1 ? 0 : variables.missing("RANK"));
        return new RankEnvironment(rank, worldSize,
            variables.number("LOCAL_RANK", "SLURM_LOCALID").orElse(0),
            variables.text("MASTER_ADDR").or(variables::firstNode)
                .orElseGet(() -> worldSize == 1 ? "localhost" : variables.missing("MASTER_ADDR")),
            variables.number("MASTER_PORT", null).orElse(DEFAULT_PORT), variables.severalNodes(worldSize));
    }

    private static UserException noProcesses(int worldSize) {
        return new UserException("WORLD_SIZE=" + worldSize + " must be at least 1 (SLURM_NTASKS under Slurm)");
    }

    /** Whether this process is a task of srun, and not the shell of a batch script or of salloc. */
    public static boolean isSlurmTask(Map<String, String> environment) {
        return new Variables(environment).text("SLURM_STEP_ID").filter(id ->
            id.length() < FIRST_STEP_OF_SHELLS.length() || id.compareTo(FIRST_STEP_OF_SHELLS) < 0).isPresent();
    }

    /**
     * Number of processes on this machine: LOCAL_WORLD_SIZE, as in torchrun; 1 if it is not set.
     *
     * @throws UserException if it is not a positive number
     */
    public static int localWorldSize(Map<String, String> environment) {
        int number = new Variables(environment).number("LOCAL_WORLD_SIZE", null).orElse(1);
        if (number < 1) {
            throw new UserException("LOCAL_WORLD_SIZE=" + number + ": the number of processes on this machine must be"
                + " at least 1");
        }
        return number;
    }

    /** Environment variables; an empty one counts as absent. */
    private record Variables(Map<String, String> all) {
        Optional<String> text(String name) {
            return Optional.ofNullable(all.get(name)).map(String::strip).filter(value -> !value.isEmpty());
        }

        Optional<Integer> number(String name, String fallback) {
            if (text(name).isEmpty() && fallback != null) {
                return number(fallback, null);
            }
            return text(name).map(value -> {
                try {
                    return Integer.parseInt(value);
                } catch (NumberFormatException notANumber) {
                    throw new UserException(name + "=" + value + " is not a number", notANumber);
                }
            });
        }

        /** A launcher's LOCAL_WORLD_SIZE comes first: one in a Slurm job may start processes on one of its nodes. */
        boolean severalNodes(int worldSize) {
            return number("LOCAL_WORLD_SIZE", null).map(local -> local < worldSize).orElseGet(() ->
                worldSize > 1 && number("SLURM_STEP_NUM_NODES", "SLURM_NNODES").orElse(1) > 1);
        }

        <T> T missing(String name) {
            throw new UserException(name + " is not set, but WORLD_SIZE is greater than 1; set"
                + " RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or start them by srun or"
                + " `isobar launch`");
        }

        /**
         * Refuses to run in the shell of a Slurm job. In the shell of a batch script the variables look like those of
         * rank 0: SLURM_PROCID is 0 and SLURM_NTASKS is that of the job. In an interactive shell only SLURM_NTASKS is
         * set. Only in a task of srun is SLURM_STEP_NUM_TASKS equal to SLURM_NTASKS (observed with Slurm 22.05). If
         * RANK is set and SLURM_PROCID is not, a launcher other than srun has started the processes.
         */
        void refuseShell() {
            boolean otherLauncher = text("SLURM_PROCID").isEmpty() && text("RANK").isPresent();
            if (text("SLURM_JOB_ID").isPresent() && !otherLauncher
                && !text("SLURM_STEP_NUM_TASKS").equals(text("SLURM_NTASKS"))) {
                throw new UserException("this is the shell of Slurm job " + all.get("SLURM_JOB_ID")
                    + ", not one of its " + all.getOrDefault("SLURM_NTASKS", "several") + " tasks, and would wait"
                    + " forever for the others. Put srun before the command" + (text("RANK").isEmpty() ? ""
                    : ", or unset SLURM_PROCID if another launcher has started the processes"));
            }
        }

        /** The first node of the step, on which rank 0 runs. */
        Optional<String> firstNode() {
            return text("SLURM_STEP_NODELIST").or(() -> text("SLURM_JOB_NODELIST")).map(RankEnvironment::firstNode)
                .or(() -> text("SLURM_LAUNCH_NODE_IPADDR"));
        }
    }

    /** The first host of a compressed Slurm node list: {@code nid001} of {@code nid[001-004,007],login1}. */
    static String firstNode(String list) {
        Matcher matcher = FIRST_OF_LIST.matcher(list);
        if (!matcher.matches()) {
            throw new UserException("cannot read the node list '" + list + "'; set MASTER_ADDR");
        }
        return matcher.group(1) + (matcher.group(2) == null ? "" : matcher.group(2) + matcher.group(3));
    }
}
