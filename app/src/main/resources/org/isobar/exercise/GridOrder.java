import java.util.LinkedHashMap;
import java.util.Map;

import org.isobar.exercise.api.RankOrder;

/** The coordinates of a rank: with order tp-cp-dp, ranks 0 and 1 differ along tp, if tp has more than one rank. */
public final class GridOrder implements RankOrder {
    @Override
    public Map<String, Integer> coordinates(int rank, String order, Map<String, Integer> sizes) {
        Map<String, Integer> coordinates = new LinkedHashMap<>();
        for (String axis : order.split("-")) {
            // TODO: the coordinates are the digits of the rank, the first axis the lowest; sizes.get(axis) is the base.
            coordinates.put(axis, 0);
        }
        return coordinates;
    }
}
