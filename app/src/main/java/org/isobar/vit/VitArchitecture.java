package org.isobar.vit;

import org.isobar.model.Architecture;
import org.isobar.model.ModelOptions;
import org.isobar.model.ModelSpec;

/** The registry's entry for the tutorial's vision transformer. */
public final class VitArchitecture implements Architecture {
    private static final int MLP_RATIO = 4; // the tutorial's, which has no key for it

    @Override
    public String name() {
        return "vit";
    }

    @Override
    public ModelSpec spec(ModelOptions options) {
        return new VitConfig(options.height(), options.width(), options.patchSize(), options.inChannels(),
            options.outChannels(),
            options.embedDim(), options.depth(), options.numHeads(), MLP_RATIO * options.embedDim(), options.dropout(),
            options.recompute());
    }
}
