package org.isobar.plan;

import java.util.Comparator;
import java.util.List;

/**
 * The predictions for all layouts of a request.
 *
 * @param request what was planned
 * @param layouts the layouts that are possible: first those that fit, the fastest first
 * @param leftOut the layouts that are impossible
 */
public record Plan(PlanRequest request, List<PlannedLayout> layouts, List<LeftOut> leftOut) {
    /** Sorts the layouts. */
    public Plan {
        layouts = layouts.stream().sorted(Comparator.comparing((PlannedLayout each) -> !each.fits())
            .thenComparing(each -> -each.samplesPerSecond())).toList();
        leftOut = List.copyOf(leftOut);
    }

    /** The fastest layout that fits. */
    public PlannedLayout best() {
        return layouts.getFirst();
    }

    /** Whether the prediction is for a device on which Isobar has not been measured. */
    public boolean unvalidated() {
        return request.program() == Program.ISOBAR && request.machine().isGpu();
    }
}
