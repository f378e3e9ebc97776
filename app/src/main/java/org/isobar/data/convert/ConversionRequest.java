package org.isobar.data.convert;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Stream;

import org.isobar.data.Era5Variable;
import org.isobar.fault.UserException;

/**
 * What is to be converted.
 *
 * @param from          files, directories and stores
 * @param to            directory of the year files
 * @param variables     short names of the channels, in their order; empty for those of the tutorial
 * @param names         file with further short names
 * @param years         the years; empty for all that there are
 * @param valid         years of validation, which are converted too
 * @param hoursPerFrame hours from one time step to the next; 0 for those of the data
 * @param crop          part of the grid: {@code NORTH/WEST/SOUTH/EAST} or {@code ROWSxCOLUMNS}; empty for all of it
 * @param coarsen       rows and columns of a cell that is averaged; 1 for none
 * @param fillNaN       what missing values are replaced with; empty if they are refused
 * @param partial       whether each year may end early
 * @param force         whether files of another conversion are replaced
 */
public record ConversionRequest(List<String> from, Path to, List<String> variables, Optional<Path> names,
                                SortedSet<Integer> years, SortedSet<Integer> valid, int hoursPerFrame, String crop,
                                int coarsen, String fillNaN, boolean partial, boolean force) {
    /** Checks that no variable is named twice. */
    public ConversionRequest {
        Set<String> once = new HashSet<>();
        for (String variable : variables) {
            if (!once.add(variable)) {
                throw new UserException("--variables has '" + variable + "' twice. Name each channel once.");
            }
        }
        variables = variables.isEmpty() ? Stream.of(Era5Variable.values()).map(Era5Variable::label).toList()
            : variables;
    }
}
