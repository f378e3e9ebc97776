package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;

/**
 * Puts the slices of a checkpoint together into one safetensors file of whole tensors. These stand in the order of
 * their names, so that equal tensors make equal files, whatever slices they were written in. Memory is taken for one
 * tensor at a time.
 */
public final class CheckpointMerge {
    private static final String OPTION = "--output";

    /** What of a checkpoint the file is to hold. */
    public enum Contents {
        /** What PyTorch's {@code state_dict} has. */
        WEIGHTS,
        /** Besides, Adam's two moments of each weight, under {@link TensorSlice#firstMoment} and the like. */
        WEIGHTS_AND_MOMENTS
    }

    private CheckpointMerge() { }

    /**
     * Writes the file, which appears whole or not at all and replaces what is there.
     *
     * @throws UserException if a block of the checkpoint is damaged, or the disk does not take the file
     */
    public static void write(Checkpoint checkpoint, Contents contents, Path output) {
        if (isWithin(checkpoint.path(), output)) {
            throw new UserException(OPTION + " " + output + " is in the checkpoint itself; give another directory");
        }
        if (Files.isDirectory(output)) {
            throw new UserException(OPTION + " " + output + " is a directory; give the name of a file");
        }
        List<SafeTensorsWriter.NamedTensor> tensors = checkpoint.names().stream().sorted()
            .filter(name -> contents == Contents.WEIGHTS_AND_MOMENTS || TensorSlice.isWeight(name))
            .map(name -> new SafeTensorsWriter.NamedTensor(name, checkpoint.shape(name),
                memory -> checkpoint.read(name, memory)))
            .toList();
        new AtomicFile("weights", output, OPTION)
            .write(file -> SafeTensorsWriter.write(file, tensors, Map.of("format", "pt")));
    }

    /** Whether a file would be put into a directory, links followed. */
    private static boolean isWithin(Path directory, Path file) {
        Path parent = file.toAbsolutePath().getParent();
        try {
            return parent != null && Files.exists(parent) && Files.isSameFile(directory, parent);
        } catch (IOException e) {
            throw FileFault.unwritable("weights " + file, OPTION, e);
        }
    }
}
