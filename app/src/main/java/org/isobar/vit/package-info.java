/** The vision transformer: predicts the weather images of the next time step from those of the current one. */
package org.isobar.vit;
