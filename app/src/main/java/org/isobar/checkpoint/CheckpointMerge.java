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
 * Merges the slices of a checkpoint into one safetensors file of whole tensors. The tensors are in the order of their
 * names, so that equal tensors give equal files, whatever slices they were written in. Memory holds one tensor at a
 * time.
 */
public final class CheckpointMerge {
    private static final String OPTION = "--output";

    /** Which tensors of a checkpoint the file holds. */
    public enum Contents {
        /** The weights, as in PyTorch's {@code state_dict}. */
        WEIGHTS,
        /**
         * The weights and Adam's two moments of each, named by {@link TensorSlice#firstMoment} and
         * {@link TensorSlice#secondMoment}.
         */
        WEIGHTS_AND_MOMENTS
    }

    private CheckpointMerge() { }

    /**
     * Writes the file atomically; replaces an existing one.
     *
     * @throws UserException if a block of the checkpoint is damaged, or the file cannot be written
     */
    public static void write(Checkpoint checkpoint, Contents contents, Path output) {
        if (isWithin(checkpoint.path(), output)) {
            throw new UserException(OPTION + " " + output + " is inside the checkpoint; give another directory");
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

    /** Whether a file would be created in a directory, after following links. */
    private static boolean isWithin(Path directory, Path file) {
        Path parent = file.toAbsolutePath().getParent();
        try {
            return parent != null && Files.exists(parent) && Files.isSameFile(directory, parent);
        } catch (IOException e) {
            throw FileFault.unwritable("weights " + file, OPTION, e);
        }
    }
}
