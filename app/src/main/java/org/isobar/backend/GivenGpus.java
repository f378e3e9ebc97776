package org.isobar.backend;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What says that this process was given GPUs, whether or not they can be used: variables of Slurm and of CUDA, and the
 * device files of NVIDIA's kernel driver.
 *
 * @param slurm whether this process belongs to a Slurm job; also true in the shell of a job
 * @param signs the variables and files, such as {@code SLURM_GPUS_ON_NODE=4} and {@code /dev/nvidia0}
 */
public record GivenGpus(boolean slurm, List<String> signs) {
    private static final Path DEVICES = Path.of("/dev");
    private static final String VISIBLE = "CUDA_VISIBLE_DEVICES";
    /** Numbers of GPUs or requests for them, such as {@code 4}, {@code a100:4}, {@code gpu:0}. */
    private static final Pattern COUNTS = Pattern.compile("SLURM_GPUS(_ON_NODE|_PER_(NODE|TASK|SOCKET))?"
        + "|SLURM_(JOB_|STEP_)?GRES");
    /** Lists of GPUs, such as {@code 0,1}. */
    private static final Pattern LISTS = Pattern.compile("SLURM_(JOB|STEP)_GPUS");
    private static final Pattern NO_COUNT = Pattern.compile("(.*[:=])?0*|none|\\(null\\)");
    private static final Pattern NO_LIST = Pattern.compile("|-1|NoDevFiles|none|void");

    /** Keeps a copy. */
    public GivenGpus {
        signs = List.copyOf(signs);
    }

    /** Looks at the environment of this process and at {@code /dev}. */
    public static GivenGpus of(Map<String, String> environment) {
        return of(environment, DEVICES);
    }

    static GivenGpus of(Map<String, String> environment, Path devices) {
        boolean slurm = !environment.getOrDefault("SLURM_JOB_ID", "").isBlank();
        List<String> signs = new ArrayList<>();
        new TreeMap<>(environment).forEach((name, value) -> {
            boolean given = name.equals(VISIBLE) && !NO_LIST.matcher(value.strip()).matches()
                || slurm && LISTS.matcher(name).matches() && !NO_LIST.matcher(value.strip()).matches()
                || slurm && COUNTS.matcher(name).matches() && isCount(value.strip());
            if (given) {
                signs.add(name + "=" + value);
            }
        });
        boolean hidden = !slurm && NO_LIST.matcher(environment.getOrDefault(VISIBLE, "0").strip()).matches();
        if (!hidden) {
            signs.addAll(files(devices));
        }
        return new GivenGpus(slurm, signs);
    }

    /** A GRES may list other resources than GPUs. */
    private static boolean isCount(String value) {
        return !NO_COUNT.matcher(value).matches()
            && (value.matches("[0-9].*") || value.contains("gpu") || value.matches("\\w+:[0-9]+.*"));
    }

    private static List<String> files(Path devices) {
        List<String> files = new ArrayList<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(devices, "nvidia[0-9]*")) {
            found.forEach(file -> files.add(file.toString()));
        } catch (IOException unreadable) {
            return List.of();
        }
        return files.stream().sorted().toList();
    }

    /** Whether there is any sign. */
    public boolean any() {
        return !signs.isEmpty();
    }

    @Override
    public String toString() {
        return String.join(", ", signs);
    }
}
